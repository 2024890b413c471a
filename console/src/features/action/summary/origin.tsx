import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { ProblemService, type CausingAction, type GetFailureResponse } from "@gen/flytebinary/insight/v1/problems_pb.js";
import { dateOf, plural } from "@/design/format";
import { When } from "@/design/time";
import { nameOf } from "@/entities/action/identity";
import { actionId, type ActionName } from "@/entities/action/name";
import { useWanted } from "@/entities/action/use-wanted";
import { none, type RunModel } from "@/entities/run/model/run-model";
import { useModelVersion } from "@/entities/run/model/use-run-model";
import css from "./summary.module.css";

/** How often a failure is asked for again that is not counted yet, or whose log was not read yet, in milliseconds. */
const again = 2000;

/** Where the failure of an action comes from, and whether it is new; undefined until that is known. */
export function useFailure(action: ActionName, enabled: boolean): GetFailureResponse | undefined {
  const { data } = useQuery(
    ProblemService.method.getFailure,
    { actionId: actionId(action) },
    { enabled, retry: 1, refetchInterval: ({ state }) => (state.data && !state.data.problem?.file && state.dataUpdateCount < 10 ? again : false) },
  );
  return enabled ? data : undefined;
}

/** The action whose error it is: the last one of the causes, or the action itself. */
export function originOf(action: ActionName, failure: GetFailureResponse | undefined): ActionName {
  const name = failure?.causedBy.at(-1)?.actionId?.name;
  return name === undefined ? action : { run: action.run, name };
}

interface CausesProps {
  readonly model: RunModel;
  readonly causes: readonly CausingAction[];
  readonly onSelect: (action: string) => void;
}

/** The children with whose error an action failed, from its own child down. */
export function Causes({ model, causes, onSelect }: CausesProps) {
  useModelVersion(model);
  const names = causes.map(({ actionId: id }) => id?.name ?? "");
  useWanted(
    model,
    "causes",
    names.map((name) => model.row(name)),
  );
  if (causes.length === 0) return null;
  return (
    <p data-testid="caused-by">
      Caused by{" "}
      {names.map((name, at) => (
        <Fragment key={name}>
          {at > 0 && ", caused by "}
          <button type="button" className={css["link"]} title={name} onClick={() => onSelect(name)}>
            {model.row(name) === none ? shortTask(causes[at]?.task ?? "") : nameOf(model, model.row(name))}
          </button>
        </Fragment>
      ))}
    </p>
  );
}

const shortTask = (task: string): string => task.slice(task.lastIndexOf(".") + 1);

/** When the error was first seen, how often, and the last success, in one line. */
export function Seen({ action, failure }: { readonly action: ActionName; readonly failure: GetFailureResponse }) {
  const { problem, lastSuccess } = failure;
  const { project, domain } = action.run;
  if (!problem) return null;
  const success = lastSuccess?.runId?.name;
  return (
    <p data-testid="seen">
      {problem.failures === 1n ? (
        <strong>New: not seen before</strong>
      ) : (
        <>
          First seen <When at={dateOf(problem.firstSeen)} /> ·{" "}
          <Link to="/domain/$domain/project/$project/problems/$problem" params={{ project, domain, problem: String(problem.id) }}>
            {plural(Number(problem.failures), "time")} in {plural(Number(problem.runs), "run")}
          </Link>
        </>
      )}
      {" · "}
      {success === undefined ? (
        "no run of this task has succeeded"
      ) : (
        <>
          last success{" "}
          <Link to="/domain/$domain/project/$project/runs/$run" params={{ project, domain, run: success }}>
            {success}
          </Link>{" "}
          <When at={dateOf(lastSuccess?.endedAt)} relative />
          {" · "}
          <Link to="/domain/$domain/project/$project/compare" params={{ project, domain }} search={{ a: success, b: action.run.name }}>
            Compare
          </Link>
        </>
      )}
    </p>
  );
}
