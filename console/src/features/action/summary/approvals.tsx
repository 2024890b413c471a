import { useQuery } from "@connectrpc/connect-query";
import { ConditionService } from "@gen/flytebinary/insight/v1/conditions_pb.js";
import { DataTable } from "@/design/data-table";
import { dateOf } from "@/design/format";
import { Empty } from "@/design/notice";
import { Phase } from "@/design/phase";
import { When } from "@/design/time";
import { whoIs } from "@/entities/person/who-is";
import type { RunName } from "@/entities/run/kind";
import { valueOf } from "@/entities/value/value";
import { ValueView } from "@/entities/value/value-view";
import { t } from "@/texts/texts";
import css from "./summary.module.css";

/** How many approvals of a run are listed, and how often they are read again while it works, in milliseconds. */
const most = 100;
const every = 10_000;

export interface ApprovalsProps {
  readonly run: RunName;
  readonly live: boolean;
  readonly onSelect: (action: string) => void;
}

/** The approvals of a run: who answered what, when, and with which words. Nothing for a run that asks for none. */
export function Approvals({ run: { project, domain, name }, live, onSelect }: ApprovalsProps) {
  const answer = useQuery(
    ConditionService.method.listConditions,
    { runId: { project, domain, name }, limit: most },
    { retry: false, refetchInterval: live ? every : false },
  );
  const rows = answer.data?.conditions ?? [];
  if (rows.length === 0) return null;
  return (
    <section className={css["section"]} data-testid="approvals">
      <h3>{t("Approvals")}</h3>
      <DataTable
        what={t("approvals")}
        label={t("Approvals")}
        answer={answer}
        rows={rows}
        keyOf={({ action }) => action}
        empty={<Empty title={t("No approvals")} />}
        columns={[
          {
            label: t("Approval"),
            wrap: true,
            cell: ({ action, name: asked }) => (
              <button type="button" className={css["link"]} onClick={() => onSelect(action)}>
                {asked}
              </button>
            ),
          },
          { label: t("Answer"), wrap: true, cell: ({ answer: given, phase }) => (given ? <ValueView value={valueOf(given.value)} /> : <Phase phase={phase} />) },
          { label: t("By"), wrap: true, cell: ({ answer: given }) => whoIs(given?.answeredBy) || "–" },
          { label: t("When"), cell: ({ answer: given }) => (given?.answeredAt ? <When at={dateOf(given.answeredAt)} relative /> : "–") },
          { label: t("Comment"), wrap: true, cell: ({ answer: given }) => <span className={css["said"]}>{given?.comment || "–"}</span> },
        ]}
      />
      {answer.data?.token && <p className={css["muted"]}>{t("The first {n}.", { n: most })}</p>}
    </section>
  );
}
