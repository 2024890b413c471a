import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { Button } from "@/design/button";
import { dateOf } from "@/design/format";
import { Loading, ProblemNotice } from "@/design/notice";
import { Phase, PhaseBar, PhaseNumbers } from "@/design/phase";
import { isLive } from "@/design/phases";
import { Span, When } from "@/design/time";
import { taskOf } from "@/features/runs/task-of";
import type { PanelChange } from "@/features/action/panel";
import { AbortDialog } from "@/features/launch/abort";
import { ActionList } from "./list/action-list";
import { countPhases, useActions } from "./list/use-actions";
import type { ActionSearch } from "./search";
import css from "./page.module.css";

const ActionPanel = lazy(() => import("@/features/action/panel").then((m) => ({ default: m.ActionPanel })));

/** A run: its actions on one side, everything about the chosen one on the other. */
export function RunPage() {
  const { project = "", domain = "", run: name = "" } = useParams({ strict: false });
  const search: ActionSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const run = { project, domain, name };
  const { state, problem } = useActions(run);
  const [aborting, setAborting] = useState(false);
  const chosen = search.action ?? "a0";
  const go = (next: ActionSearch) =>
    void navigate({ to: "/domain/$domain/project/$project/runs/$run", params: { domain, project, run: name }, search: next, replace: true });
  const change = (next: PanelChange) => {
    const merged: Record<string, unknown> = { ...search, ...next };
    go(Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined)));
  };
  const root = state?.get("a0")?.action;
  const phase = root?.status?.phase ?? ActionPhase.UNSPECIFIED;
  const started = dateOf(root?.status?.startTime);
  const counts = countPhases(state);
  return (
    <div className={css["page"]}>
      <header className={css["header"]}>
        <h1>{root ? taskOf(root) : name}</h1>
        <span className={css["name"]}>{name}</span>
        {root && (
          <>
            <Phase phase={phase} />
            <span>
              <When at={started} />, <Span from={started} to={isLive(phase) ? undefined : dateOf(root.status?.endTime)} />
            </span>
            <div className={css["counts"]}>
              <PhaseBar counts={counts} />
              <PhaseNumbers counts={counts} />
            </div>
            {isLive(phase) && (
              <Button kind="danger" onClick={() => setAborting(true)}>
                Abort …
              </Button>
            )}
          </>
        )}
      </header>
      <AbortDialog run={run} open={aborting} onClose={() => setAborting(false)} />
      {problem && <ProblemNotice error={problem} />}
      {!state && !problem && <Loading what="the run" />}
      {state && (
        <div className={css["split"]}>
          <ActionList actions={state} selected={chosen} onSelect={(action) => go({ action })} />
          <Suspense fallback={<Loading what="the action" />}>
            <ActionPanel
              run={run}
              action={chosen}
              attempt={search.attempt}
              tab={search.tab ?? "summary"}
              line={search.line}
              onChange={change}
              onClose={() => go({})}
              onSelect={(action) => go({ action })}
            />
          </Suspense>
        </div>
      )}
    </div>
  );
}
