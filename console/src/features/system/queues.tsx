import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import type { Queue } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { Filter_Function } from "@gen/flyteidl2/common/list_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { count, dateOf } from "@/design/format";
import { Phase } from "@/design/phase";
import { Table } from "@/design/table";
import { Span } from "@/design/time";
import { listRequest } from "@/features/runs/request";
import { titleOf } from "@/entities/action/title";
import { t } from "@/texts/texts";
import { every } from "./use-system";
import css from "./system.module.css";

/** The queues with their usage and waiting runs. */
export function Queues({ queues }: { readonly queues: readonly Queue[] }) {
  const clusters = new Set(queues.map((queue) => queue.cluster)).size;
  return (
    <section className={css["section"]} aria-labelledby="queues" data-testid="queues">
      <h2 id="queues">{t("Queues")}</h2>
      <Table
        label={t("Queues")}
        scroll="group"
        rows={queues}
        keyOf={({ name }) => name}
        columns={[
          { label: t("Queue"), cell: ({ name }) => name },
          clusters > 1 && { label: t("Cluster"), cell: ({ cluster }) => cluster },
          { label: t("Active actions"), cell: ({ actions, maxActions }) => <Fill used={actions} limit={maxActions} /> },
          { label: t("Active runs"), cell: ({ runs, maxRuns }) => <Fill used={runs} limit={maxRuns} /> },
          { label: t("Waiting"), cell: ({ depth, maxDepth }) => <Fill used={depth} limit={maxDepth} /> },
          { label: t("Longest wait"), cell: ({ oldestWaiting }) => (oldestWaiting ? <Span from={dateOf(oldestWaiting)} to={undefined} /> : "–") },
          { label: t("Priority"), number: true, cell: ({ priority }) => priority },
        ]}
      />
      <Waiting />
    </section>
  );
}

/** The usage of a limit; 0 means no limit. */
function Fill({ used, limit }: { readonly used: bigint; readonly limit: bigint }) {
  if (limit === 0n) return <span title={t("no limit")}>{count(used)}</span>;
  const share = Math.min(100, (Number(used) / Number(limit)) * 100);
  return (
    <span className={css["fill"]}>
      {t("{used} of {limit}{bar}", { used: count(used), limit: count(limit), bar: <span className={css["gauge"]} data-full={share >= 100 || undefined} aria-hidden>
        <span style={{ width: `${share}%` }} />
      </span> })}
    </span>
  );
}

const maxRuns = 10;

/** The waiting runs of all projects, oldest first. */
function Waiting() {
  const request = listRequest(maxRuns + 1, "oldest", [
    { function: Filter_Function.VALUE_IN, field: "phase", values: [ActionPhase.QUEUED, ActionPhase.WAITING_FOR_RESOURCES].map(String) },
  ]);
  const { data } = useQuery(RunService.method.listRuns, { request, scopeBy: { case: "org", value: "flyte" } }, { refetchInterval: every, retry: false });
  if (!data) return null;
  if (data.runs.length === 0) return <p className={css["muted"]}>{t("No runs waiting to start.")}</p>;
  return (
    <>
      <h3>{t("Runs waiting to start, oldest first")}</h3>
      <ul className={css["list"]} data-testid="waiting-runs">
        {data.runs.slice(0, maxRuns).map(({ action }) => {
          const run = action?.id?.run;
          if (!action || !run) return null;
          return (
            <li key={`${run.project}/${run.domain}/${run.name}`}>
              <Phase phase={action.status?.phase ?? ActionPhase.UNSPECIFIED} compact />
              <Link to="/domain/$domain/project/$project/runs/$run" params={{ domain: run.domain, project: run.project, run: run.name }}>
                {titleOf(action)}
              </Link>
              <code>{run.name}</code>
              <span className={css["muted"]}>
                {run.project} / {run.domain}, <Span from={dateOf(action.status?.startTime)} to={undefined} />
              </span>
            </li>
          );
        })}
      </ul>
      {data.runs.length > maxRuns && <p className={css["muted"]}>{t("More runs are waiting.")}</p>}
    </>
  );
}
