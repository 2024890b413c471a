import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Link, useParams } from "@tanstack/react-router";
import { Sort_Direction } from "@gen/flyteidl2/common/list_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { Button } from "@/design/button";
import { dateOf } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { Phase } from "@/design/phase";
import { isLive } from "@/design/phases";
import { Span, When } from "@/design/time";
import { taskOf } from "./task-of";
import css from "./runs.module.css";

const every = 3000;

/** The runs of a project's domain, the latest first, looked up again every few seconds. */
export function RunsPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const answer = useInfiniteQuery(
    RunService.method.listRuns,
    {
      request: { limit: 50, token: "", sortByFields: [{ key: "created_at", direction: Sort_Direction.DESCENDING }] },
      scopeBy: { case: "projectId", value: { organization: "flyte", name: project, domain } },
    },
    {
      pageParamKey: "request",
      getNextPageParam: (page, _all, asked) => (page.token ? { ...asked, token: page.token } : undefined),
      refetchInterval: every,
    },
  );
  const runs = answer.data?.pages.flatMap((page) => page.runs) ?? [];
  return (
    <div className={css["page"]}>
      <h1>Runs</h1>
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what="the runs" />}
      {answer.isSuccess && runs.length === 0 && <Empty title="Nothing has run here yet" command={`flyte run -p ${project} -d ${domain} hello.py main`} />}
      {runs.length > 0 && (
        <table className={css["table"]}>
          <thead>
            <tr>
              <th scope="col">Task</th>
              <th scope="col">Run</th>
              <th scope="col">Phase</th>
              <th scope="col">Started</th>
              <th scope="col">Duration</th>
              <th scope="col">By</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <Row key={run.action?.id?.run?.name ?? ""} run={run} />
            ))}
          </tbody>
        </table>
      )}
      {answer.hasNextPage && (
        <div>
          <Button disabled={answer.isFetchingNextPage} onClick={() => void answer.fetchNextPage()}>
            Older runs
          </Button>
        </div>
      )}
    </div>
  );
}

function Row({ run }: { readonly run: Run }) {
  const action = run.action;
  const id = action?.id?.run;
  if (!id) return null;
  const phase = action.status?.phase ?? ActionPhase.UNSPECIFIED;
  const started = dateOf(action.status?.startTime);
  const by = action.metadata?.executedBy?.principal;
  return (
    <tr>
      <td>
        <Link to="/domain/$domain/project/$project/runs/$run" params={{ domain: id.domain, project: id.project, run: id.name }}>
          {taskOf(action)}
        </Link>
      </td>
      <td className={css["name"]}>{id.name}</td>
      <td>
        <Phase phase={phase} />
      </td>
      <td>
        <When at={started} />
      </td>
      <td>
        <Span from={started} to={isLive(phase) ? undefined : dateOf(action.status?.endTime)} />
      </td>
      <td>{by?.case === "user" ? by.value.id?.subject : by?.case === "application" ? by.value.id?.subject : ""}</td>
    </tr>
  );
}
