import { durationMs } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { TaskHealthService, type GridCell, type GridRun } from "@gen/flytebinary/insight/v1/health_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { usePreferences } from "@/app/preferences";
import type { Place } from "@/app/place";
import { dateOf, duration, moment } from "@/design/format";
import { Empty, Loading, Notice, ProblemNotice } from "@/design/notice";
import { lookOf } from "@/design/phases";
import page from "@/design/page.module.css";
import { t, tn } from "@/texts/texts";
import css from "./pipeline.module.css";

/** The tasks of a pipeline in its latest runs: a column for each run, a row for each task. */
export function Pipeline({ place, task }: { readonly place: Place; readonly task: string }) {
  const { zone } = usePreferences();
  const projectId = { name: place.project, domain: place.domain };
  const answer = useQuery(TaskHealthService.method.getPipelineGrid, { projectId, task }, { refetchInterval: 5_000 });
  const { runs = [], tasks = [], moreTasks = false } = answer.data ?? {};
  return (
    <section className={page["section"]} aria-label={t("Pipeline")}>
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what={t("runs")} />}
      {answer.isSuccess && runs.length === 0 && (
        <Empty title={t("No runs start with this task")}>
          <p>{t("It may run inside the runs of other tasks: see its actions.")}</p>
        </Empty>
      )}
      {runs.length > 0 && (
        <>
          <p className={page["muted"]}>
            {tn(
              runs.length,
              "The latest run. A number is how many of several actions succeeded.",
              "The latest {n} runs, the newest on the right. A number is how many of several actions succeeded.",
            )}
          </p>
          {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable region must be reachable by keyboard */}
          <div className={css["scroll"]} role="region" aria-label={t("Tasks by run")} tabIndex={0}>
            {/* eslint-disable-next-line no-restricted-syntax -- a matrix: its columns are runs, whose headers are links */}
            <table className={css["grid"]} data-testid="pipeline">
              <thead>
                <tr>
                  <th scope="col">{t("Task")}</th>
                  {runs.map((run) => (
                    <th key={run.name} scope="col">
                      <Link
                        to="/domain/$domain/project/$project/runs/$run"
                        params={{ ...place, run: run.name }}
                        title={`${run.name}\n${wordsOfRun(run)}\n${moment(dateOf(run.createdAt) ?? new Date(0), zone)}`}
                        aria-label={t("Run {name}", { name: run.name })}
                        className={css["run"]}
                        style={{ background: `var(${lookOf(run.phase).colour})` }}
                      />
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {tasks.map(({ name, cells }) => (
                  <tr key={name} data-name={name}>
                    <th scope="row">
                      <Link to="/domain/$domain/project/$project/tasks/$task" params={{ ...place, task: name }} title={name}>
                        {name}
                      </Link>
                    </th>
                    {cells.map((cell, at) => (
                      <td key={runs[at]?.name ?? at}>{runs[at] && <Cell place={place} run={runs[at]} cell={cell} />}</td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          {moreTasks && <Notice title={t("These runs have more tasks")}>{t("The first 200 are shown.")}</Notice>}
        </>
      )}
    </section>
  );
}

const wordsOfRun = ({ phase, duration: took }: GridRun): string => [lookOf(phase).label, took && duration(durationMs(took))].filter(Boolean).join(", ");

/** The phase that says most about the actions of a cell. */
function phaseOf({ failed, aborted, unfinished }: GridCell): ActionPhase {
  if (failed > 0) return ActionPhase.FAILED;
  if (unfinished > 0) return ActionPhase.RUNNING;
  return aborted > 0 ? ActionPhase.ABORTED : ActionPhase.SUCCEEDED;
}

function Cell({ place, run, cell }: { readonly place: Place; readonly run: GridRun; readonly cell: GridCell }) {
  if (cell.actions === 0) return <span className={css["none"]} title={t("{name}: not in this run", { name: run.name })} />;
  const look = lookOf(phaseOf(cell));
  const words = [
    t("{succeeded} of {actions} succeeded", { succeeded: String(cell.succeeded), actions: String(cell.actions) }),
    cell.failed > 0 && t("{failed} failed", { failed: String(cell.failed) }),
    cell.aborted > 0 && t("{aborted} aborted", { aborted: String(cell.aborted) }),
    cell.unfinished > 0 && t("{unfinished} not ended", { unfinished: String(cell.unfinished) }),
    cell.cached > 0 && t("{cached} cached", { cached: String(cell.cached) }),
    cell.average && t("{durationMs} on average", { durationMs: duration(durationMs(cell.average)) }),
  ]
    .filter(Boolean)
    .join(", ");
  const Icon = look.icon;
  const fraction = `${String(cell.succeeded)}/${String(cell.actions)}`;
  return (
    <Link
      to="/domain/$domain/project/$project/runs/$run"
      params={{ ...place, run: run.name }}
      search={cell.action === "a0" ? {} : { action: cell.action }}
      className={css["cell"]}
      style={{ ["--colour" as string]: `var(${look.colour})` }}
      title={`${run.name}: ${words}`}
      aria-label={t("{fraction} in {run}: {outcome}", { fraction, run: run.name, outcome: words })}
    >
      {cell.actions === 1 ? <Icon size={14} aria-hidden /> : fraction}
    </Link>
  );
}
