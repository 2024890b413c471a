import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { Button } from "@/design/button";
import { dateOf } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { Phase } from "@/design/phase";
import { isLive } from "@/design/phases";
import { Span, When } from "@/design/time";
import { whoIs } from "@/entities/person/who-is";
import { History } from "./history";
import type { Range } from "./search";
import css from "@/design/list.module.css";

export interface TaskRunsProps {
  readonly place: Place;
  readonly task: string;
  /** Only of this version. */
  readonly version: string | undefined;
  readonly range: Range;
  readonly onRange: (range: Range) => void;
}

/** The history of a task, and its latest runs. */
export function TaskRuns({ place, task, version, range, onRange }: TaskRunsProps) {
  const { project, domain } = place;
  const name = { org: "flyte", project, domain, name: task };
  const answer = useInfiniteQuery({
    queryKey: ["task-runs", project, domain, task, version],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      client(RunService).listRuns(
        {
          request: { limit: 20, token: pageParam },
          scopeBy: version === undefined ? { case: "taskName", value: name } : { case: "taskId", value: { ...name, version } },
        },
        { signal },
      ),
    getNextPageParam: (page) => page.token || undefined,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) === 1 ? 5_000 : false),
  });
  const runs = answer.data?.pages.flatMap((page) => page.runs) ?? [];
  return (
    <>
      <History place={place} task={task} version={version} range={range} onRange={onRange} />
      <section className={css["section"]}>
        <div className={css["head"]}>
          <h2>Recent runs</h2>
          <Link to="/domain/$domain/project/$project/runs" params={place} search={{ task: `=${task}` }}>
            All runs of this task
          </Link>
        </div>
        {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
        {answer.isLoading && <Loading what="runs" />}
        {answer.isSuccess && runs.length === 0 && <Empty title={version === undefined ? "No direct runs yet" : "No direct runs of this version yet"} />}
        {runs.length > 0 && (
          <table className={css["tasks"]} aria-label="Recent runs">
            <thead>
              <tr>
                <th scope="col">Run</th>
                <th scope="col">Phase</th>
                <th scope="col">Started</th>
                <th scope="col">Duration</th>
                <th scope="col">Version</th>
                <th scope="col">Owner</th>
              </tr>
            </thead>
            <tbody>
              {runs.map((run) => (
                <Row key={run.action?.id?.run?.name ?? ""} run={run} place={place} />
              ))}
            </tbody>
          </table>
        )}
        {answer.hasNextPage && (
          <div>
            <Button onClick={() => void answer.fetchNextPage()}>Older runs</Button>
          </div>
        )}
      </section>
    </>
  );
}

function Row({ run: { action }, place: { project, domain } }: { readonly run: Run; readonly place: Place }) {
  const name = action?.id?.run?.name ?? "";
  const status = action?.status;
  const phase = status?.phase ?? ActionPhase.UNSPECIFIED;
  const spec = action?.metadata?.spec;
  const started = dateOf(status?.startTime);
  return (
    <tr data-testid="task-run" data-name={name}>
      <th scope="row">
        <Link to="/domain/$domain/project/$project/runs/$run" params={{ project, domain, run: name }}>
          {name}
        </Link>
      </th>
      <td data-label="Phase">
        <Phase phase={phase} />
      </td>
      <td data-label="Started">
        <When at={started} />
      </td>
      <td data-label="Duration">
        <Span from={started} to={isLive(phase) ? undefined : dateOf(status?.endTime)} />
      </td>
      <td data-label="Version">
        <span className={css["version"]}>{spec?.case === "task" ? spec.value.id?.version : ""}</span>
      </td>
      <td data-label="Owner">{whoIs(action?.metadata?.executedBy)}</td>
    </tr>
  );
}
