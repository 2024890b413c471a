import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useDeferredValue, useMemo, type ReactNode } from "react";
import { DeliveryState } from "@gen/flytebinary/insight/v1/notifications_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { chunk } from "@/api/chunk";
import { useTitle } from "@/app/title";
import { count } from "@/design/format";
import { Loading, ProblemNotice } from "@/design/notice";
import { isFailure, isLive, lookOf } from "@/design/phases";
import { Split } from "@/design/split";
import { Tabs } from "@/design/tabs";
import type { PanelChange } from "@/features/action/tab";
import { useAppsOfRun } from "@/features/apps/use-apps-of-run";
import { RunActions } from "@/features/launch/run-actions";
import { useDeliveries } from "@/features/notifications/use-deliveries";
import { TrackedActions } from "@/features/launch/tracked-actions";
import { t } from "@/texts/texts";
import { filterOf, find, firstFailure } from "./find";
import { useActionFinder } from "./use-action-finder";
import { useInputSearch } from "./use-input-search";
import { Header } from "./header/header";
import { keyOfRun, routeOf } from "@/entities/run/kind";
import { none, type RunModel } from "@/entities/run/model/run-model";
import { useModelVersion, useRunModel } from "@/entities/run/model/use-run-model";
import type { RunName } from "@/entities/run/kind";
import type { ActionSearch, RunView } from "./search";
import { Silence } from "./tracked/silence";
import { Toolbar } from "./toolbar";
import { TreeView } from "./tree/tree-view";
import { parentsIn, useLines } from "./tree/use-lines";
import { useRunDetails } from "@/entities/run/use-run";
import css from "./page.module.css";

const ActionPanel = lazy(() => chunk(() => import("@/features/action/panel")).then((m) => ({ default: m.ActionPanel })));
const TimelineView = lazy(() => chunk(() => import("./timeline/timeline-view")).then((m) => ({ default: m.TimelineView })));
const GraphView = lazy(() => chunk(() => import("./graph/graph-view")).then((m) => ({ default: m.GraphView })));
const AppsOfRun = lazy(() => chunk(() => import("@/features/apps/apps-of-run")).then((m) => ({ default: m.AppsOfRun })));
const RunNotifications = lazy(() => chunk(() => import("@/features/notifications/run-notifications")).then((m) => ({ default: m.RunNotifications })));
const ErrorsView = lazy(() => chunk(() => import("./errors/errors-view")).then((m) => ({ default: m.ErrorsView })));

/** A run: its actions on one side, the selected action on the other. */
export function RunPage({ tracked = false }: { readonly tracked?: boolean }) {
  const { project = "", domain = "", run: name = "" } = useParams({ strict: false });
  const run = useMemo(() => ({ project, domain, name, ...(tracked && { tracked }) }), [project, domain, name, tracked]);
  // Expanded nodes and scroll positions belong to one run.
  return <Run key={keyOfRun(run)} run={run} />;
}

/** A run that a client executes and reports. */
export function TrackedRunPage() {
  return <RunPage tracked />;
}

type Change = Partial<Record<keyof ActionSearch, ActionSearch[keyof ActionSearch]>>;

function Run({ run }: { readonly run: RunName }) {
  const search: ActionSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const { model, problem } = useRunModel(run);
  const version = useModelVersion(model);
  const details = useRunDetails(run);
  const change = useCallback(
    (next: Change) =>
      void navigate({
        to: routeOf(run),
        params: { domain: run.domain, project: run.project, run: run.name },
        search: (before) => Object.fromEntries(Object.entries({ ...before, ...next }).filter(([, value]) => value !== undefined)),
        replace: true,
      }),
    [navigate, run],
  );
  const select = useCallback(
    (action: string | undefined) => change({ action, tab: undefined, attempt: undefined, line: undefined, file: undefined }),
    [change],
  );
  const phase = details.state?.action?.status?.phase ?? (model.size > 0 ? model.phase(0) : ActionPhase.UNSPECIFIED);
  const failed = problem ?? details.problem;
  useTitle(model.size > 0 ? `${lookOf(phase).label}: ${model.title(0)}` : "", run.name);
  return (
    <div className={css["page"]}>
      <Header run={run} details={details.state} model={model}>
        {run.tracked ? <TrackedActions run={run} phase={phase} /> : <RunActions run={run} phase={phase} model={model} />}
      </Header>
      {run.tracked && <Silence model={model} version={version} live={isLive(phase)} />}
      {failed && (
        <ProblemNotice error={failed}>
          <Link to="/domain/$domain/project/$project/runs" params={{ domain: run.domain, project: run.project }}>
            {t("All runs of {project} / {domain}", { project: run.project, domain: run.domain })}
          </Link>
        </ProblemNotice>
      )}
      {!failed && model.size === 0 && <Loading what={t("run")} />}
      {model.size > 0 && <Actions run={run} model={model} version={version} search={search} change={change} onSelect={select} />}
    </div>
  );
}

interface ActionsProps {
  readonly run: RunName;
  readonly model: RunModel;
  readonly version: number;
  readonly search: ActionSearch;
  readonly change: (next: Change) => void;
  readonly onSelect: (action: string | undefined) => void;
}

function Actions({ run, model, version, search, change, onSelect }: ActionsProps) {
  const selected = search.action ?? "a0";
  const filter = useMemo(() => filterOf({ q: search.q ?? "", phases: search.phases ?? "" }), [search.q, search.phases]);
  const deferred = useDeferredValue(filter);
  const changed = deferred.terms.length > 0 ? version : model.actionsVersion; // terms search the inputs
  // eslint-disable-next-line react-hooks/exhaustive-deps -- the model changes in place; its version says when
  const found = useMemo(() => find(model, deferred), [model, deferred, changed]);
  useActionFinder(model, version, onSelect);
  const note = useInputSearch(model, deferred.terms.length > 0);
  const lines = useLines(model, model.actionsVersion, found, selected);
  const failures = [...model.counts].reduce((n, [phase, some]) => n + (isFailure(phase) ? some : 0), 0);
  // The actions come first: what else there is to know of the run is requested when they are there.
  const notified = useDeliveries(run, DeliveryState.UNSPECIFIED, model.complete).deliveries.length;
  const used = useAppsOfRun(run, model.complete && !run.tracked).apps.length > 0;
  const view = search.view ?? "tree";
  const tabs: (readonly [RunView, ReactNode])[] = [
    ["tree", t("Actions")],
    ["timeline", t("Timeline")],
    ["graph", t("Graph")],
    ...(failures > 0 ? ([["errors", t("Failures ({failures})", { failures: count(failures) })]] as const) : []),
    ...(notified > 0 ? ([["notifications", t("Notifications ({notified})", { notified: count(notified) })]] as const) : []),
    ...(used ? ([["apps", t("Used by apps")]] as const) : []),
  ];
  const views: Record<RunView, () => ReactNode> = {
    tree: () => <TreeView model={model} view={lines} found={found} selected={selected} onSelect={onSelect} />,
    errors: () => <ErrorsView run={run} model={model} failures={failures} selected={selected} onSelect={onSelect} />,
    notifications: () => <RunNotifications run={run} />,
    apps: () => <AppsOfRun run={run} />,
    timeline: () => (
      <TimelineView run={run} model={model} version={version} selected={search.action ?? ""} onSelect={onSelect} visible={found?.shown ?? everyRow} />
    ),
    graph: () => <GraphView run={run} model={model} version={version} selected={search.action ?? ""} onSelect={onSelect} visible={found?.shown ?? everyRow} />,
  };
  const shown = tabs.some(([known]) => known === view) ? view : "tree";
  // On narrow screens the panel covers the tree, so it is open only for a selected action; see Split.
  const panel = (
    <Suspense fallback={<Loading what={t("action")} />}>
      <ActionPanel
        run={run}
        model={model}
        action={selected}
        attempt={search.attempt}
        tab={search.tab ?? "summary"}
        line={search.line}
        file={search.file}
        onChange={(next: PanelChange) => change(next)}
        onClose={search.action === undefined ? undefined : () => onSelect(undefined)}
        onSelect={onSelect}
      />
    </Suspense>
  );
  return (
    <Split
      name="run"
      label={t("Actions and selected action")}
      share={45}
      first={
        <div className={css["views"]}>
          {!model.complete && (
            <progress className={css["progress"]} value={model.size} max={model.total} aria-label={t("Loading actions")}>
              {t("{size} of {total}", { size: model.size, total: model.total })}
            </progress>
          )}
          <Tabs label={t("Run views")} value={shown} onChange={(next) => change({ view: next === "tree" ? undefined : next })} tabs={tabs}>
            <div className={css["view"]}>
              {shown !== "errors" && shown !== "notifications" && shown !== "apps" && (
                <Toolbar
                  search={search}
                  counts={model.counts}
                  found={found}
                  note={note}
                  onChange={change}
                  onFirstFailure={() => {
                    const row = firstFailure(model);
                    if (row !== none) onSelect(model.name(row));
                  }}
                  onOpenAll={shown === "tree" ? (open) => lines.choose(parentsIn(lines.outline), open) : undefined}
                />
              )}
              <div className={css["drawing"]}>
                <Suspense fallback={<Loading what={t("view")} />}>{views[shown]()}</Suspense>
              </div>
            </div>
          </Tabs>
        </div>
      }
      second={shown === "tree" || search.action !== undefined ? panel : undefined}
      secondChosen={search.action !== undefined}
    />
  );
}

const everyRow = (): boolean => true;
