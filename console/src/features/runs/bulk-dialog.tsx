import { Link } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { problemOf, type Problem } from "@/api/problem";
import type { Place } from "@/app/place";
import { Button } from "@/design/button";
import { CopyButton } from "@/design/copy";
import { Dialog, DialogActions } from "@/design/dialog";
import { Field, TextArea } from "@/design/field";
import { count } from "@/design/format";
import { Loading, Notice, ProblemNotice } from "@/design/notice";
import type { RunName } from "@/entities/run/kind";
import { t, tn } from "@/texts/texts";
import { runBulk, summarize, type Group, type Outcome } from "./bulk";
import type { BulkKind } from "./bulk-kinds";
import { collectRuns, maxRuns } from "./collect";
import type { RunsSearch } from "./search";
import css from "./bulk.module.css";

/** A bulk action and its runs: a list, or all that match a search. */
export interface BulkOrder {
  readonly kind: BulkKind;
  readonly place: Place;
  readonly runs: readonly Run[] | RunsSearch;
}

type Stage =
  | { readonly at: "collect"; readonly found: number; readonly problem?: Problem }
  | { readonly at: "ask"; readonly runs: readonly Run[] }
  | { readonly at: "work"; readonly total: number; readonly outcomes: readonly Outcome[]; readonly stopping: boolean }
  | { readonly at: "end"; readonly total: number; readonly outcomes: readonly Outcome[] };

const isRuns = (runs: BulkOrder["runs"]): runs is readonly Run[] => Array.isArray(runs);

/** Runs a bulk action: asks for confirmation, shows the progress and then the outcome. */
export function BulkDialog({ order, onClose }: { readonly order: BulkOrder; readonly onClose: () => void }) {
  const { kind, place } = order;
  const [stage, setStage] = useState<Stage>(() => (isRuns(order.runs) ? { at: "ask", runs: order.runs } : { at: "collect", found: 0 }));
  const control = useRef<AbortController>(undefined);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const { runs } = order;
    if (isRuns(runs)) return;
    const stop = new AbortController();
    const collected = collectRuns(place, kind.narrowed(runs), (found) => setStage({ at: "collect", found }), stop.signal);
    collected.then(
      (all) => setStage({ at: "ask", runs: all }),
      (error: unknown) => {
        if (!stop.signal.aborted) setStage({ at: "collect", found: 0, problem: problemOf(error) });
      },
    );
    return () => stop.abort();
    // eslint-disable-next-line react-hooks/exhaustive-deps -- an order does not change
  }, [attempt]);
  useEffect(() => () => control.current?.abort(), []);

  const work = (runs: readonly Run[], reason: string) => {
    control.current = new AbortController();
    const { signal } = control.current;
    const names = runs.flatMap((run): RunName[] => {
      const id = run.action?.id?.run;
      return id ? [{ project: id.project, domain: id.domain, name: id.name }] : [];
    });
    const phases = new Map(runs.map((run) => [run.action?.id?.run?.name, run]));
    let outcomes: readonly Outcome[] = [];
    let frame = 0;
    setStage({ at: "work", total: names.length, outcomes, stopping: false });
    void runBulk({
      runs: names,
      act: kind.act(reason, (run) => phases.get(run.name)),
      signal,
      onOutcome: (outcome) => {
        outcomes = [...outcomes, outcome];
        // Outcomes arrive faster than the screen can show them.
        frame ||= requestAnimationFrame(() => {
          frame = 0;
          setStage((now) => (now.at === "work" ? { ...now, outcomes } : now));
        });
      },
    }).then(() => {
      cancelAnimationFrame(frame);
      setStage({ at: "end", total: names.length, outcomes });
    });
  };
  const stop = () => {
    control.current?.abort();
    setStage((now) => (now.at === "work" ? { ...now, stopping: true } : now));
  };

  return (
    <Dialog open onClose={stage.at === "work" ? stop : onClose} title={kind.title} {...(stage.at === "ask" ? { description: kind.description } : {})}>
      <div className={css["content"]} data-testid="bulk" data-stage={stage.at}>
        {stage.at === "collect" &&
          (stage.problem ? (
            <ProblemNotice error={stage.problem} retry={() => setAttempt(attempt + 1)} />
          ) : (
            <Loading what={tn(stage.found, "matching runs: {n} run so far", "matching runs: {n} runs so far")} />
          ))}
        {stage.at === "ask" && <Ask kind={kind} runs={stage.runs} onWork={work} onClose={onClose} />}
        {stage.at === "work" && <Work done={stage.outcomes.length} total={stage.total} stopping={stage.stopping} onStop={stop} />}
        {stage.at === "end" && <End kind={kind} total={stage.total} outcomes={stage.outcomes} onClose={onClose} />}
      </div>
    </Dialog>
  );
}

function Ask({
  kind,
  runs,
  onWork,
  onClose,
}: {
  readonly kind: BulkKind;
  readonly runs: readonly Run[];
  readonly onWork: (runs: readonly Run[], reason: string) => void;
  readonly onClose: () => void;
}) {
  const [reason, setReason] = useState("");
  const possible = runs.filter((run) => kind.skips(run) === undefined).length;
  const others = runs.length - possible;
  return (
    <form
      className={css["content"]}
      onSubmit={(event) => {
        event.preventDefault();
        if (possible > 0) onWork(runs, reason.trim());
      }}
    >
      <p>
        <strong>{possible === 0 ? kind.nothing : kind.question(possible)}</strong>
        {others > 0 && <> {kind.others(others)}</>}
      </p>
      {runs.length >= maxRuns && (
        <Notice tone="warning" title={t("Only the first {maxRuns} runs are included", { maxRuns: count(maxRuns) })}>
          <p>{t("More runs match. Run this again for the rest.")}</p>
        </Notice>
      )}
      {kind.reason && possible > 0 && (
        <Field label={t("Reason")} hint={t("Visible to everyone.")}>
          {(control) => <TextArea {...control} rows={3} maxLength={1000} value={reason} onChange={(event) => setReason(event.target.value)} />}
        </Field>
      )}
      <DialogActions>
        <Button onClick={onClose}>{possible > 0 ? t("Cancel") : t("Close")}</Button>
        {possible > 0 && (
          <Button kind={kind.danger ? "danger" : "primary"} type="submit">
            {kind.button(possible)}
          </Button>
        )}
      </DialogActions>
    </form>
  );
}

function Work({ done, total, stopping, onStop }: { readonly done: number; readonly total: number; readonly stopping: boolean; readonly onStop: () => void }) {
  return (
    <>
      <progress className={css["progress"]} max={total} value={done} aria-label={t("Progress")} />
      <p role="status">
        {tn(total, "{done} of {n} run", "{done} of {n} runs", { done: count(done) })}
        {stopping && t(", stopping …")}
      </p>
      <DialogActions>
        <Button disabled={stopping} onClick={onStop}>
          {t("Stop")}
        </Button>
      </DialogActions>
    </>
  );
}

function End({
  kind,
  total,
  outcomes,
  onClose,
}: {
  readonly kind: BulkKind;
  readonly total: number;
  readonly outcomes: readonly Outcome[];
  readonly onClose: () => void;
}) {
  const { done, skipped, refused } = summarize(outcomes);
  const left = total - outcomes.length;
  const created = done.flatMap(({ run, result }) => (result.kind === "done" && result.created ? [{ run, created: result.created }] : []));
  return (
    <>
      <div role="status" className={css["content"]}>
        <p>
          <strong>{kind.outcome(done.length)}</strong>
          {left > 0 && ` ${tn(left, "Stopped with {n} run left.", "Stopped with {n} runs left.")}`}
        </p>
        <Groups tone="danger" word={t("refused")} groups={refused} />
        <Groups tone="plain" word={t("skipped")} groups={skipped} />
      </div>
      {created.length > 0 && (
        <ul className={css["created"]} aria-label={t("New runs")}>
          {created.map(({ run, created: { project, domain, name } }) => (
            <li key={run.name}>
              {t("{link} from {name}", { link: <Link to="/domain/$domain/project/$project/runs/$run" params={{ project, domain, run: name }} onClick={onClose}>
                {name}
              </Link>, name: run.name })}
            </li>
          ))}
        </ul>
      )}
      <DialogActions>
        <Button kind="primary" onClick={onClose}>
          {t("Close")}
        </Button>
      </DialogActions>
    </>
  );
}

function Groups({ tone, word, groups }: { readonly tone: "danger" | "plain"; readonly word: string; readonly groups: readonly Group[] }) {
  return groups.map(({ why, runs }) => (
    <Notice key={why} tone={tone} title={`${count(runs.length)} ${word}: ${why}`}>
      <details>
        <summary>
          {t("Show runs")} <CopyButton label={t("Copy run names")} text={runs.map(({ name }) => name).join("\n")} />
        </summary>
        <p className={css["names"]}>{runs.map(({ name }) => name).join(", ")}</p>
      </details>
    </Notice>
  ));
}
