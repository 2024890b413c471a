import { Code as Status } from "@connectrpc/connect";
import { X } from "lucide-react";
import { lazy, Suspense, type ReactNode } from "react";
import { ActionType, type ActionDetails } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { chunk } from "@/api/chunk";
import { Button, IconButton } from "@/design/button";
import { CopyButton } from "@/design/copy";
import { Select } from "@/design/field";
import { dateOf } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { Phase } from "@/design/phase";
import { isLive } from "@/design/phases";
import { Tabs } from "@/design/tabs";
import { Span } from "@/design/time";
import { ActionMenu } from "@/features/launch/action-menu";
import { nameOf } from "@/entities/action/identity";
import { useWanted } from "@/entities/action/use-wanted";
import { none, type RunModel } from "@/entities/run/model/run-model";
import { useModelVersion } from "@/entities/run/model/use-run-model";
import type { RunName } from "@/entities/run/kind";
import { inSentence, t } from "@/texts/texts";
import { isJob } from "./job/words";
import { Summary } from "./summary/summary";
import type { PanelChange, PanelTab, TabProps } from "./tab";
import { titleOf } from "@/entities/action/title";
import { attemptOf, latest, useActionDetails } from "./use-action";
import { keyOf, type ActionName } from "@/entities/action/name";
import css from "./panel.module.css";

const Data = lazy(() => chunk(() => import("./io/data")).then((m) => ({ default: m.DataTab })));
const Logs = lazy(() => chunk(() => import("./logs/logs")).then((m) => ({ default: m.LogsTab })));
const Code = lazy(() => chunk(() => import("./code/code")).then((m) => ({ default: m.CodeView })));
const Report = lazy(() => chunk(() => import("./report/report")).then((m) => ({ default: m.ReportView })));
const Resources = lazy(() => chunk(() => import("./resources/resources")).then((m) => ({ default: m.ResourcesTab })));
const Pod = lazy(() => chunk(() => import("./pod/pod")).then((m) => ({ default: m.PodTab })));

export interface ActionPanelProps {
  readonly run: RunName;
  /** For what tells the action apart from its siblings, and for its children. */
  readonly model: RunModel;
  /** The name of the action; a0 is the root action. */
  readonly action: string;
  /** The attempt to show; the latest if unset. */
  readonly attempt?: number | undefined;
  readonly tab: string;
  /** A line of the log to show. */
  readonly line?: number | undefined;
  /** A file of the code to show. */
  readonly file?: string | undefined;
  readonly onChange: (next: PanelChange) => void;
  /** Undefined if the panel cannot be closed. */
  readonly onClose: (() => void) | undefined;
  /** Selects another action of the run. */
  readonly onSelect: (action: string) => void;
}

/** The details of one action, in tabs. */
export function ActionPanel(props: ActionPanelProps) {
  const { run, action } = props;
  const name: ActionName = { run, name: action };
  const { state, problem } = useActionDetails(name);
  return (
    <section className={css["panel"]} aria-label={t("Action {action}", { action })} data-testid="action-panel">
      <Header details={state} {...props} />
      {problem && (problem.code === Status.NotFound ? <Unknown {...props} /> : <ProblemNotice error={problem} />)}
      {!state && !problem && <Loading what={t("action")} />}
      {state && <Content key={keyOf(name)} name={name} details={state} {...props} />}
    </section>
  );
}

/** The address names an action that the run does not have. */
function Unknown({ action, run, onSelect }: ActionPanelProps) {
  return (
    <Empty title={t("Run {run} has no action “{action}”", { run: run.name, action })}>
      <p>{t("The address may be of another run, or its end may be missing.")}</p>
      <Button onClick={() => onSelect("a0")}>{t("Show the root action")}</Button>
    </Empty>
  );
}

function Header({ run, model, action, attempt, details, onChange, onClose }: ActionPanelProps & { readonly details: ActionDetails | undefined }) {
  const phase = details?.status?.phase ?? ActionPhase.UNSPECIFIED;
  useModelVersion(model);
  const row = model.row(action);
  useWanted(model, "panel", [row]);
  const newest = details && latest(details)?.attempt;
  return (
    <header className={css["header"]}>
      <div className={css["title"]}>
        <h2 title={action}>{row !== none ? nameOf(model, row) : details ? titleOf(details) : ""}</h2>
        <span className={css["name"]}>
          {action}
          <CopyButton text={action} label={t("Copy action name")} />
        </span>
      </div>
      {details && (
        <div className={css["state"]}>
          <Phase phase={phase} />
          <Span from={dateOf(details.status?.startTime)} to={isLive(phase) ? undefined : dateOf(details.status?.endTime)} />
        </div>
      )}
      {details && details.attempts.length > 1 && (
        <Select
          className={css["attempt"]}
          aria-label={t("Attempt")}
          value={attempt ?? newest}
          onChange={(event) => {
            const chosen = Number(event.target.value);
            onChange({ attempt: chosen === newest ? undefined : chosen, line: undefined });
          }}
        >
          {details.attempts.map((one) => (
            <option key={one.attempt} value={one.attempt}>
              {t("Attempt {attempt}", { attempt: one.attempt })}
              {one.attempt === newest ? ` ${t("(latest)")}` : ""}
            </option>
          ))}
        </Select>
      )}
      {details && !run.tracked && <ActionMenu run={run} action={action} type={details.metadata?.actionType ?? ActionType.UNSPECIFIED} phase={phase} />}
      {onClose && (
        <IconButton label={t("Close")} className={css["close"] ?? ""} onClick={onClose}>
          <X size={16} aria-hidden />
        </IconButton>
      )}
    </header>
  );
}

const names: Record<PanelTab, string> = { summary: t("Summary"), io: t("Inputs and outputs"), logs: t("Logs"), code: t("Code"), report: t("Report"), resources: t("Resources"), pod: t("Pod") };

/** The tabs of an action. Only tasks run code in pods, and those of tracked runs have neither here. */
function tabsOf(details: ActionDetails, tracked: boolean | undefined, attempt: number | undefined): readonly PanelTab[] {
  const all = allTabsOf(details, tracked);
  // The job of a connector has no pod, and its metrics are those that the connector has.
  return isJob(attemptOf(details, attempt)) ? all.filter((tab) => tab !== "pod" && tab !== "resources") : all;
}

function allTabsOf(details: ActionDetails, tracked: boolean | undefined): readonly PanelTab[] {
  if (tracked) return hasReport(details) ? ["summary", "io", "report"] : ["summary", "io"];
  switch (details.metadata?.actionType) {
    case ActionType.CONDITION:
    case ActionType.TRACE:
      return ["summary", "io"];
    default:
      return hasReport(details) ? ["summary", "io", "logs", "report", "code", "resources", "pod"] : ["summary", "io", "logs", "code", "resources", "pod"];
  }
}

/** Whether the task declares a report, or has one. */
const hasReport = ({ spec, attempts }: ActionDetails): boolean =>
  (spec.case === "task" && spec.value.taskTemplate?.metadata?.generatesDeck === true) || attempts.some((one) => (one.outputs?.reportUri ?? "") !== "");

function Content({
  name,
  model,
  details,
  attempt,
  tab,
  line,
  file,
  onChange,
  onSelect,
}: ActionPanelProps & { readonly name: ActionName; readonly details: ActionDetails }) {
  const tabs = tabsOf(details, name.run.tracked, attempt);
  const chosen = tabs.find((known) => known === tab) ?? "summary";
  const props: TabProps = { action: name, model, details, attempt: attemptOf(details, attempt)?.attempt ?? 0, onChange, onSelect };
  const contents: Record<PanelTab, () => ReactNode> = {
    summary: () => <Summary {...props} />,
    io: () => <Data {...props} />,
    logs: () => <Logs key={props.attempt} {...props} line={line} />,
    code: () => <Code run={name.run} action={name.name} file={file} onFile={(next) => onChange({ file: next })} />,
    report: () => (
      <Report
        key={props.attempt}
        run={name.run}
        action={name.name}
        attempt={props.attempt}
        live={isLive(attemptOf(details, attempt)?.phase ?? ActionPhase.UNSPECIFIED)}
      />
    ),
    resources: () => <Resources key={props.attempt} {...props} />,
    pod: () => <Pod {...props} />,
  };
  return (
    <Tabs label={t("Action views")} value={chosen} onChange={(next) => onChange({ tab: next })} tabs={tabs.map((known) => [known, names[known]] as const)}>
      <div className={css["content"]} data-tab={chosen}>
        <Suspense fallback={<Loading what={inSentence(names[chosen])} />}>{contents[chosen]()}</Suspense>
      </div>
    </Tabs>
  );
}
