import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { client } from "@/api/transport";
import { isTerminal } from "@/design/phases";
import type { Names } from "@/features/launch/submit";
import type { RunName } from "@/entities/run/kind";
import { t, tn } from "@/texts/texts";
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

const ended = t("already ended");

export const abortKind: BulkKind = {
  key: "abort",
  verb: t("Abort"),
  title: t("Abort runs"),
  description: t("Aborts the runs with all their actions. Actions that already ended keep their phase and outputs."),
  danger: true,
  reason: true,
  question: (runs) => tn(runs, "Abort {n} run?", "Abort {n} runs?"),
  others: (runs) => tn(runs, "{n} run already ended and will be skipped.", "{n} runs already ended and will be skipped."),
  nothing: t("None of these runs is active."),
  button: (runs) => tn(runs, "Abort {n} run", "Abort {n} runs"),
  outcome: (runs) => tn(runs, "Aborting {n} run.", "Aborting {n} runs."),
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
  verb: t("Rerun"),
  title: t("Rerun"),
  description: t("Reruns each run with the same task version, inputs and options."),
  danger: false,
  reason: false,
  question: (runs) => tn(runs, "Create {n} new run?", "Create {n} new runs?"),
  others: () => "",
  nothing: t("There are no runs to rerun."),
  button: (runs) => tn(runs, "Rerun {n} run", "Rerun {n} runs"),
  outcome: (runs) => tn(runs, "{n} new run created.", "{n} new runs created."),
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
