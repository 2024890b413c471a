import { lazy, Suspense } from "react";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { ActionType } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { chunk } from "@/api/chunk";
import { Notice } from "@/design/notice";
import { isLive } from "@/design/phases";
import { t } from "@/texts/texts";
import type { TabProps } from "../tab";
import { attemptOf, latest } from "../use-action";
import { Job } from "../job/job";
import { Approvals } from "./approvals";
import { Attempts } from "./attempts";
import { Children } from "./children";
import { Condition } from "./condition";
import { Details } from "./details";
import { Events } from "./events";
import { Failure } from "./failure";
import { FailingInputs } from "./inputs";
import { Causes, originOf, Seen, useFailure } from "./origin";
import { Traceback } from "./traceback";
import { whoIs } from "@/entities/person/who-is";
import { Explanation } from "./waiting";
import { WaitsBelow } from "./waits-below";

const Outputs = lazy(() => chunk(() => import("../io/outputs")).then((m) => ({ default: m.Outputs })));

/** The summary of an action, error first. */
export function Summary({ action, model, details, attempt, onChange, onSelect }: TabProps) {
  const phase = details.status?.phase ?? ActionPhase.UNSPECIFIED;
  const live = isLive(phase);
  const chosen = attemptOf(details, attempt);
  // The error of the attempt that is shown. The result of the action is that of its latest attempt only.
  const error = chosen?.errorInfo ?? (chosen === latest(details) && details.result.case === "errorInfo" ? details.result.value : undefined);
  const aborted = details.result.case === "abortInfo" ? details.result.value : undefined;
  const task = details.metadata?.actionType === ActionType.TASK;
  const explained = task && error !== undefined && !action.run.tracked;
  const failure = useFailure(action, explained);
  const origin = originOf(action, failure);
  // Of an error of a child, the traceback of the parent ends in the call of the child.
  const attemptOfOrigin = origin === action ? (chosen?.attempt ?? 0) : 0;
  return (
    <>
      {error && (
        <Failure error={error} onLook={(tab) => onChange({ tab })}>
          {explained && (
            <>
              {failure && <Seen action={action} failure={failure} />}
              {failure && <Causes model={model} causes={failure.causedBy} onSelect={onSelect} />}
              <Traceback
                key={origin.name}
                action={origin}
                attempt={attemptOfOrigin}
                onLog={(line) => {
                  if (origin !== action) onSelect(origin.name);
                  onChange({ tab: "logs", line });
                }}
              />
              <FailingInputs key={`inputs ${origin.name}`} action={origin} />
            </>
          )}
        </Failure>
      )}
      {aborted && (
        <Notice title={whoIs(aborted.abortedBy) ? t("Aborted by {who}", { who: whoIs(aborted.abortedBy) }) : t("Aborted")}>
          <p>{aborted.reason || t("No reason given.")}</p>
        </Notice>
      )}
      <Condition action={action} details={details} />
      {!action.run.tracked && <Explanation action={action} phase={phase} onSelect={onSelect} />}
      {live && action.name === "a0" && !action.run.tracked && <WaitsBelow run={action.run} onSelect={onSelect} />}
      {action.name === "a0" && !action.run.tracked && <Approvals run={action.run} live={live} onSelect={onSelect} />}
      {phase === ActionPhase.SUCCEEDED && (
        <Suspense fallback={null}>
          <Outputs action={action} details={details} />
        </Suspense>
      )}
      <Attempts
        attempts={details.attempts}
        chosen={attempt}
        live={live}
        onChoose={(next) => onChange({ attempt: next === latest(details)?.attempt ? undefined : next, line: undefined })}
      />
      {task && !action.run.tracked && <Job key={`job ${attempt}`} action={action} attempt={chosen} live={live && chosen === latest(details)} />}
      {task && attempt > 0 && !action.run.tracked && <Events key={attempt} action={action} attempt={attempt} live={live && chosen === latest(details)} />}
      <Details action={action} details={details} attempt={chosen} onSelect={onSelect} />
      <Children key={action.name} action={action.name} model={model} onSelect={onSelect} />
    </>
  );
}
