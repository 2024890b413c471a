import type { RunFold } from "@gen/flytebinary/insight/v1/runs_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { count, msOf } from "@/design/format";
import { isLive, phases } from "@/design/phases";
import { keyOf } from "@/entities/run/listed";
import { countsOf } from "@/entities/run/progress";
import { inSentence, t } from "@/texts/texts";
import type { Loaded } from "./merge";
import type { Node, Term } from "@/entities/run/query/node";
import { tryQuery } from "@/entities/run/query/parse";
import { quoted } from "@/entities/run/query/quoted";
import type { RunsSearch } from "./search";

/** A line of the list: a run, the runs of a trigger, or the link to those of them that are not shown. */
export type Line =
  | { readonly kind: "run"; readonly key: string; readonly run: Run; readonly inFold: boolean }
  | { readonly kind: "fold"; readonly key: string; readonly fold: RunFold; readonly open: boolean }
  | { readonly kind: "rest"; readonly key: string; readonly fold: RunFold };

export const keyOfFold = ({ trigger }: RunFold): string => `fold:${trigger?.taskName ?? ""}/${trigger?.name ?? ""}`;

/** How many runs a fold has. More exist if it has older ones. */
export const sizeOf = ({ counts }: RunFold): number => counts.reduce((sum, each) => sum + each.count, 0);

/** "all good", or what else happened, the worst first. */
export function outcomeOf({ counts }: Pick<RunFold, "counts">): string {
  const byPhase = countsOf(counts);
  const good = ["succeeded", "recovered"];
  const others = phases.filter(({ phase, key }) => !good.includes(key) && (byPhase.get(phase) ?? 0) > 0);
  const words = others.filter(({ phase }) => !isLive(phase)).map(({ phase, label }) => `${byPhase.get(phase) ?? 0} ${inSentence(label)}`);
  const live = others.filter(({ phase }) => isLive(phase)).reduce((sum, { phase }) => sum + (byPhase.get(phase) ?? 0), 0);
  const all = counts.reduce((sum, each) => sum + each.count, 0);
  if (words.length === 0 && live < all) words.push(t("all good"));
  if (live > 0) words.push(t("{live} unfinished", { live: count(live) }));
  return words.join(", ");
}

const created = (run: Run | undefined): number => msOf(run?.action?.status?.startTime) ?? 0;

/**
 * The lines of a list, newest first: the runs without a trigger as far as they are loaded, and a line for each trigger where its newest run
 * would be. A trigger whose newest run is older than what is loaded waits for its page. A single run of a trigger is listed as it is.
 */
export function linesOf({ runs, more }: Loaded, folds: readonly RunFold[], opened: ReadonlyMap<string, readonly Run[]>): readonly Line[] {
  const end = more ? created(runs.at(-1)) : -Infinity;
  const lines: Line[] = [];
  const shown = folds.filter(({ latest }) => created(latest) >= end);
  let at = 0;
  const addFoldsBefore = (time: number) => {
    for (; at < shown.length && created(shown[at]?.latest) >= time; at++) lines.push(...linesOfFold(shown[at], opened));
  };
  for (const run of runs) {
    addFoldsBefore(created(run));
    lines.push({ kind: "run", key: keyOf(run), run, inFold: false });
  }
  addFoldsBefore(-Infinity);
  return lines;
}

function linesOfFold(fold: RunFold | undefined, opened: ReadonlyMap<string, readonly Run[]>): readonly Line[] {
  if (!fold?.latest) return [];
  if (sizeOf(fold) === 1 && !fold.older) return [{ kind: "run", key: keyOf(fold.latest), run: fold.latest, inFold: false }];
  const key = keyOfFold(fold);
  const runs = opened.get(key);
  if (runs === undefined) return [{ kind: "fold", key, fold, open: false }];
  return [
    { kind: "fold", key, fold, open: true },
    ...runs.map((run): Line => ({ kind: "run", key: keyOf(run), run, inFold: true })),
    ...(fold.older || runs.length < sizeOf(fold) ? [{ kind: "rest", key: `${key}/rest`, fold } as const] : []),
  ];
}

/** Why the runs of triggers are not folded although the reader has not switched it off; undefined if they are. */
export function whyUnfolded({ query = "", sort }: RunsSearch): string | undefined {
  if (sort !== undefined) return t("Runs of triggers are listed one by one in this order.");
  const answer = tryQuery(query);
  if ("problem" in answer) return t("Runs of triggers are listed one by one.");
  if (mentions(answer.node, "trigger")) return t("Runs of triggers are listed one by one, as the filter is about triggers.");
  // They are not in the database, so that the server cannot fold by them.
  if (mentions(answer.node, "input")) return t("Runs of triggers are listed one by one, as the filter is about inputs.");
  return undefined;
}

/** Whether the runs of triggers are folded. */
export const isFolding = (search: RunsSearch): boolean => search.unfold !== true && whyUnfolded(search) === undefined;

const mentions = (node: Node, key: Term["key"]): boolean =>
  node.kind === "term" ? node.term.key === key : node.nodes.some((part) => mentions(part, key));

/** The search for the runs without a trigger. */
export const untriggered = (search: RunsSearch): RunsSearch => ({ ...search, untriggered: true });

/** The search for the runs of a trigger, as far as they match a query. */
export function searchOfTrigger({ trigger }: RunFold, query = ""): RunsSearch {
  const own = `trigger:${quoted(trigger?.name ?? "")} task=${quoted(trigger?.taskName ?? "")}`;
  return { query: query === "" ? own : `${own} (${query})` };
}

/** What a fold is called. */
export const titleOfFold = (fold: RunFold): string => `${fold.trigger?.name ?? ""} × ${sizeOf(fold)}${fold.older ? "+" : ""}`;
