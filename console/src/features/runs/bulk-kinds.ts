import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { client } from "@/api/transport";
import { plural } from "@/design/format";
import { isTerminal } from "@/design/phases";
import type { Names } from "@/features/launch/submit";
import type { RunName } from "@/entities/run/kind";
import type { Bulk } from "./bulk";
import { phaseOf } from "@/entities/run/listed";
import { also } from "@/entities/run/query/edit";
import type { RunsSearch } from "./search";

/** A bulk action and its texts. */
export interface BulkKind {
  readonly key: "abort" | "rerun";
  readonly verb: string;
  readonly title: string;
  readonly description: string;
  readonly danger: boolean;
  /** Whether it asks for a reason. */
  readonly reason: boolean;
  /** Asks for confirmation. */
  readonly question: (runs: number) => string;
  /** Says how many of the selected runs are left out. */
  readonly others: (runs: number) => string;
  /** The text if there is no run to act on. */
  readonly nothing: string;
  readonly button: (runs: number) => string;
  readonly outcome: (runs: number) => string;
  /** Why a run is skipped; undefined if it is not. */
  readonly skips: (run: Run) => string | undefined;
  /** Narrows a search to runs that the action applies to. */
  readonly narrowed: (search: RunsSearch) => RunsSearch;
  readonly act: (reason: string, known: (run: RunName) => Run | undefined) => Bulk["act"];
}

const ended = "already ended";

export const abortKind: BulkKind = {
  key: "abort",
  verb: "Abort",
  title: "Abort runs",
  description: "Aborts the runs with all their actions. Actions that already ended keep their phase and outputs.",
  danger: true,
  reason: true,
  question: (runs) => `Abort ${plural(runs, "run")}?`,
  others: (runs) => `${plural(runs, "run")} already ended and will be skipped.`,
  nothing: "None of these runs is active.",
  button: (runs) => `Abort ${plural(runs, "run")}`,
  outcome: (runs) => `Aborting ${plural(runs, "run")}.`,
  skips: (run) => (isTerminal(phaseOf(run)) ? ended : undefined),
  narrowed: (search) => ({ query: also(search.query ?? "", "is:active") }),
  act: (reason, known) => async (run, signal) => {
    // The server accepts an abort of a terminal run and ignores it.
    const before = known(run);
    if (before && isTerminal(phaseOf(before))) return { kind: "skipped", why: ended };
    await client(RunService).abortRun({ runId: run, ...(reason && { reason }) }, { signal });
    return { kind: "done" };
  },
};

export const rerunKind: BulkKind = {
  key: "rerun",
  verb: "Rerun",
  title: "Rerun",
  description: "Reruns each run with the same task version, inputs and options.",
  danger: false,
  reason: false,
  question: (runs) => `Create ${plural(runs, "new run")}?`,
  others: () => "",
  nothing: "There are no runs to rerun.",
  button: (runs) => `Rerun ${plural(runs, "run")}`,
  outcome: (runs) => `${plural(runs, "new run")} created.`,
  skips: () => undefined,
  narrowed: (search) => search,
  act: () => {
    const names = new Map<string, Names>();
    return async (run) => {
      const [{ rerunRun }, { Names }] = await Promise.all([import("@/features/launch/related-run"), import("@/features/launch/submit")]);
      // A retry sends the same name, so that a lost response does not create a second run.
      const known = names.get(run.name) ?? new Names();
      names.set(run.name, known);
      return { kind: "done", created: await rerunRun(run, known) };
    };
  },
};

/** All bulk actions. */
export const bulkKinds: readonly BulkKind[] = [abortKind, rerunKind];
