import { useMutation } from "@tanstack/react-query";
import { AuditService, type VerifyAuditResponse } from "@gen/flytebinary/access/v1/access_pb.js";
import { client } from "@/api/transport";
import { Button } from "@/design/button";
import { CopyButton } from "@/design/copy";
import { Facts } from "@/design/facts";
import { count } from "@/design/format";
import { Notice, ProblemNotice } from "@/design/notice";
import { everywhere } from "@/entities/access/rights";
import { useDenied } from "@/entities/access/use-denied";
import css from "@/design/page.module.css";
import { t } from "@/texts/texts";

/** Checks the chain of hashes over all events, and shows the result. */
export function Verify() {
  const denied = useDenied(AuditService.method.verifyAudit, everywhere);
  const { mutate, data, error, isPending } = useMutation({ mutationFn: () => client(AuditService).verifyAudit({}) });
  return (
    <>
      <div className={css["actions"]}>
        <Button denied={denied} disabled={isPending} onClick={() => mutate()}>
          {isPending ? t("Verifying …") : t("Verify")}
        </Button>
      </div>
      {error && (
        <div style={{ flexBasis: "100%" }}>
          <ProblemNotice error={error} retry={() => mutate()} />
        </div>
      )}
      {data && (
        <div style={{ flexBasis: "100%" }}>
          <Result {...data} />
        </div>
      )}
    </>
  );
}

function Result({ checked, brokenAt, problem, last, hash }: VerifyAuditResponse) {
  if (brokenAt !== 0n || problem !== "") {
    return (
      <Notice tone="danger" role="alert" title={t("Event {brokenAt} was changed, or one before it was removed", { brokenAt })}>
        <p>{problem}</p>
      </Notice>
    );
  }
  return (
    <Notice tone="good" role="status" title={t("No event was changed or removed: {checked} checked", { checked: count(checked) })}>
      <p>{t("Keep the number and the hash of the newest event outside of the database. They show later whether the end was cut off.")}</p>
      <Facts
        facts={[
          [t("Newest event"), String(last)],
          [
            t("Its hash"),
            <span key="hash">
              <code style={{ overflowWrap: "anywhere" }}>{hash}</code> <CopyButton text={hash} label={t("Copy hash")} />
            </span>,
          ],
        ]}
      />
    </Notice>
  );
}
