import { useState } from "react";
import { AccountService } from "@gen/flytebinary/access/v1/access_pb.js";
import { client } from "@/api/transport";
import { Button } from "@/design/button";
import { useChange } from "@/design/change-form";
import { Field, Input } from "@/design/field";
import { ProblemNotice } from "@/design/notice";
import { useDenied } from "@/entities/access/use-denied";
import { t } from "@/texts/texts";
import { NewPassword } from "./account-dialogs";
import { passwordError } from "./words";
import css from "@/design/page.module.css";

/** Replaces the reader's own password, with the current one. */
export function ChangePassword({ account }: { readonly account: string }) {
  const empty = { current: "", password: "", again: "" };
  const [typed, setTyped] = useState(empty);
  const [tried, setTried] = useState(false);
  const denied = useDenied(AccountService.method.changePassword, "anywhere");
  const { pending, error, change } = useChange({ onClose: () => undefined, onChanged: () => undefined });
  const { current, password, again } = typed;
  const submit = () => {
    setTried(true);
    if (current === "" || passwordError(password) !== "" || again !== password) return;
    const send = async () => {
      await client(AccountService).changePassword({ current, password });
      setTyped(empty);
      setTried(false);
    };
    change(send, t("Password changed"));
  };
  return (
    <section className={css["section"]} aria-labelledby="password">
      <h2 id="password">{t("Change password")}</h2>
      <form
        className={css["section"]}
        style={{ maxWidth: "26rem" }}
        onSubmit={(event) => {
          event.preventDefault();
          if (!pending && denied === undefined) submit();
        }}
      >
        <input type="text" name="username" autoComplete="username" value={account} readOnly hidden />
        <Field label={t("Current password")} error={tried && current === "" ? t("The current password is required.") : ""}>
          {(control) => <Input {...control} type="password" autoComplete="current-password" value={current} onChange={(event) => setTyped({ ...typed, current: event.target.value })} />}
        </Field>
        <NewPassword label={t("New password")} value={password} tried={tried} onChange={(next) => setTyped({ ...typed, password: next })} />
        <Field label={t("New password again")} error={tried && again !== password ? t("It differs from the new password.") : ""}>
          {(control) => <Input {...control} type="password" autoComplete="new-password" value={again} onChange={(event) => setTyped({ ...typed, again: event.target.value })} />}
        </Field>
        <p className={css["muted"]}>{t("Your other sessions end.")}</p>
        {error !== undefined && <ProblemNotice error={error} />}
        <div>
          <Button kind="primary" type="submit" denied={denied} disabled={pending}>
            {t("Change password")}
          </Button>
        </div>
      </form>
    </section>
  );
}
