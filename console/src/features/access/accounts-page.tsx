import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { AccountService, type Account } from "@gen/flytebinary/access/v1/access_pb.js";
import { client } from "@/api/transport";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import type { Denial } from "@/design/denial";
import { Tag } from "@/design/facts";
import { dateOf } from "@/design/format";
import { ListPage } from "@/design/list-page";
import { Empty } from "@/design/notice";
import { Note, type Column } from "@/design/table";
import { useNow, When } from "@/design/time";
import { everywhere } from "@/entities/access/rights";
import { useDenied, useMayRead } from "@/entities/access/use-denied";
import { useMe } from "@/entities/access/use-me";
import { t } from "@/texts/texts";
import { AccountDialogs, type AccountChange } from "./account-dialogs";
import { AccountsSearch } from "./search";
import { accountState } from "./words";
import css from "@/design/page.module.css";

/** The local accounts of the installation, for operators. */
export function AccountsPage() {
  const { removed }: AccountsSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const me = useMe();
  const now = useNow(5_000);
  const [change, setChange] = useState<AccountChange>();
  const noView = useDenied(AccountService.method.listAccounts, everywhere);
  const noCreate = useDenied(AccountService.method.createAccount, everywhere);
  useTitle(t("Local accounts"));
  const answer = useQuery({
    queryKey: ["access", "accounts"],
    queryFn: ({ signal }) => client(AccountService).listAccounts({}, { signal }),
    enabled: useMayRead(noView),
  });
  const rows = answer.data?.accounts.filter((account) => removed || !account.removedAt) ?? [];
  const columns: readonly Column<Account>[] = [
    {
      label: t("Name"),
      cell: ({ name, displayName, email }) => (
        <>
          {name}
          <Note>{[displayName !== name && displayName, email].filter(Boolean).join(", ")}</Note>
        </>
      ),
    },
    { label: t("Groups"), cell: ({ groups }) => groups.join(", ") || t("None"), wrap: true },
    { label: t("Created"), cell: ({ createdAt }) => <When at={dateOf(createdAt)} relative /> },
    { label: t("State"), cell: (account) => <State of={account} now={now} /> },
    {
      label: t("Actions"),
      hideLabel: true,
      cell: (account) => !account.removedAt && <Actions account={account} own={account.subject === me?.subject} locked={accountState(account, now) === "locked"} onChange={setChange} />,
    },
  ];
  return (
    <ListPage
      title={t("Local accounts")}
      what={t("accounts")}
      label={t("Accounts")}
      head={
        <>
          <label>
            <input
              type="checkbox"
              checked={removed === true}
              onChange={(event) => void navigate({ to: "/accounts", search: AccountsSearch({ removed: event.target.checked }), replace: true })}
            /> {t("Include removed")}
          </label>
          <div className={css["actions"]}>
            <Button kind="primary" denied={noCreate} onClick={() => setChange({ kind: "create" })}>
              {t("Create account")}
            </Button>
          </div>
        </>
      }
      empty={<Empty title={t("No accounts")} />}
      denied={noView}
      answer={answer}
      rows={rows}
      columns={columns}
      keyOf={({ name }) => name}
      attributesOf={({ name }) => ({ "data-testid": "account-row", "data-name": name })}
    >
      <AccountDialogs change={change} onClose={() => setChange(undefined)} onChanged={() => void answer.refetch()} />
    </ListPage>
  );
}

function State({ of, now }: { readonly of: Account; readonly now: number }) {
  const state = accountState(of, now);
  if (state === "active") return t("Active");
  return (
    <>
      <Tag>{state}</Tag> {state === "locked" && `${t("until")} `}
      <When at={dateOf(of.removedAt ?? of.lockedUntil)} relative={state === "removed"} />
    </>
  );
}

interface ActionsProps {
  readonly account: Account;
  /** Whether it is the reader's: no one removes their own account. */
  readonly own: boolean;
  readonly locked: boolean;
  readonly onChange: (change: AccountChange) => void;
}

function Actions({ account, own, locked, onChange }: ActionsProps) {
  const noEdit = useDenied(AccountService.method.updateAccount, everywhere);
  const noPassword = useDenied(AccountService.method.setPassword, everywhere);
  const noUnlock = useDenied(AccountService.method.unlockAccount, everywhere);
  const noSignOut = useDenied(AccountService.method.endSessions, everywhere);
  const noRemove = useDenied(AccountService.method.removeAccount, everywhere);
  const { name } = account;
  const button = (kind: Exclude<AccountChange["kind"], "create">, words: string, label: string, denied: Denial | undefined) => (
    <Button small denied={denied} onClick={() => onChange({ kind, account })} aria-label={label}>
      {words}
    </Button>
  );
  return (
    <div className={css["inline"]}>
      {locked && button("unlock", t("Unlock"), t("Unlock {name}", { name }), noUnlock)}
      {button("edit", t("Edit"), t("Edit {name}", { name }), noEdit)}
      {button("password", t("Set password"), t("Set password of {name}", { name }), noPassword)}
      {button("sign-out", t("Sign out"), t("Sign out {name}", { name }), noSignOut)}
      {!own && button("remove", t("Remove"), t("Remove {name}", { name }), noRemove)}
    </div>
  );
}
