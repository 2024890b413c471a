import type { GetMeResponse } from "@gen/flytebinary/access/v1/access_pb.js";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import type { PausedAction } from "@gen/flytebinary/insight/v1/overview_pb.js";
import { Filter_Function, Sort_Direction } from "@gen/flyteidl2/common/list_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { client } from "@/api/transport";
import { can } from "@/entities/access/rights";
import { titleOf } from "@/entities/action/title";
import { t } from "@/texts/texts";
import { most, pause, type Alert } from "./alert";

type Me = Pick<GetMeResponse, "open" | "grants" | "subject">;

/** What there is to tell a person: approvals that wait for this person, and runs of this person that failed. */
export async function loadAlerts(me: Me, signal: AbortSignal): Promise<readonly Alert[]> {
  const [paused, failed] = await Promise.all([
    client(InsightService).listPausedActions({ limit: most.keys }, { signal }),
    client(RunService).listRuns(
      {
        scopeBy: { case: "org", value: "flyte" },
        request: {
          limit: 100,
          filters: [
            { field: "phase", function: Filter_Function.VALUE_IN, values: [ActionPhase.FAILED, ActionPhase.TIMED_OUT].map(String) },
            { field: "ended_at", function: Filter_Function.GREATER_THAN_OR_EQUAL, values: [new Date(Date.now() - 2 * pause).toISOString()] },
            { field: "created_by", function: Filter_Function.EQUAL, values: [me.subject || "anonymous"] },
          ],
          sortByFields: [{ key: "updated_at", direction: Sort_Direction.DESCENDING }],
        },
      },
      { signal },
    ),
  ]);
  return [...paused.actions.filter((action) => isFor(me, action)).flatMap(approval), ...failed.runs.flatMap(failure)];
}

/** Whether an approval waits for a person: who was asked, or, if no one was, each who may answer. */
export function isFor(me: Me, { assignee, actionId }: Pick<PausedAction, "assignee" | "actionId">): boolean {
  if (me.open) return true;
  if (assignee) return assignee.subject === me.subject;
  return can(me, "action.signal", { project: actionId?.run?.project ?? "", domain: actionId?.run?.domain ?? "" });
}

function approval({ actionId, condition }: PausedAction): readonly Alert[] {
  const run = actionId?.run;
  if (!run) return [];
  return [
    {
      key: `approval ${run.project}/${run.domain}/${run.name}/${actionId.name}`,
      title: t("Approval: {name}", { name: condition?.name ?? actionId.name }),
      body: t("{run} in {project} / {domain} waits for an answer.", { run: run.name, project: run.project, domain: run.domain }),
      run,
      action: actionId.name,
    },
  ];
}

function failure({ action }: Run): readonly Alert[] {
  const run = action?.id?.run;
  if (!run) return [];
  const name = titleOf(action);
  const title = action.status?.phase === ActionPhase.TIMED_OUT ? t("Run timed out: {name}", { name }) : t("Run failed: {name}", { name });
  return [
    {
      key: `failed ${run.project}/${run.domain}/${run.name}`,
      title,
      body: t("{run} in {project} / {domain}", { run: run.name, project: run.project, domain: run.domain }),
      run,
    },
  ];
}
