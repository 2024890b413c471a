import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { ProblemService, type CausingAction, type GetFailureResponse } from "@gen/flytebinary/insight/v1/problems_pb.js";
import { dateOf } from "@/design/format";
import { When } from "@/design/time";
import { nameOf } from "@/entities/action/identity";
import { actionId, type ActionName } from "@/entities/action/name";
import { useWanted } from "@/entities/action/use-wanted";
import { none, type RunModel } from "@/entities/run/model/run-model";
import { useModelVersion } from "@/entities/run/model/use-run-model";
import { t, tn } from "@/texts/texts";
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
      {t("Caused by")}{" "}
      {names.map((name, at) => (
        <Fragment key={name}>
          {at > 0 && `${t(", caused by")} `}
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
        <strong>{t("New: not seen before")}</strong>
      ) : (
        <>
          {t("First seen {when} · {link}", { when: <When at={dateOf(problem.firstSeen)} />, link: <Link to="/domain/$domain/project/$project/problems/$problem" params={{ project, domain, problem: String(problem.id) }}>
            {t("{times} in {runs}", { times: tn(Number(problem.failures), "{n} time", "{n} times"), runs: tn(Number(problem.runs), "{n} run", "{n} runs") })}
          </Link> })}
        </>
      )}
      {" · "}
      {success === undefined ? (
        t("no run of this task has succeeded")
      ) : (
        <>
          {t("last success {run} {when} · {compare}", { run: <Link to="/domain/$domain/project/$project/runs/$run" params={{ project, domain, run: success }}>
            {success}
          </Link>, when: <When at={dateOf(lastSuccess?.endedAt)} relative />, compare: <Link to="/domain/$domain/project/$project/compare" params={{ project, domain }} search={{ a: success, b: action.run.name }}>
            {t("Compare")}
          </Link> })}
        </>
      )}
    </p>
  );
}
