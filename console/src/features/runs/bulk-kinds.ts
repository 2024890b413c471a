import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { client } from "@/api/transport";
import { plural } from "@/design/format";
import { isLive, isTerminal, phases } from "@/design/phases";
import type { Names } from "@/features/launch/submit";
import type { RunName } from "@/features/run/model/use-run-model";
import type { Bulk } from "./bulk";
import { phaseOf } from "./request";
import { patched, type RunsSearch } from "./search";

/** Something that can be done to many runs, and how it is said. */
export interface BulkKind {
  readonly key: "abort" | "rerun";
  readonly verb: string;
  readonly title: string;
  readonly about: string;
  readonly danger: boolean;
  /** Whether it wants a reason. */
  readonly reason: boolean;
  readonly asks: (runs: number) => string;
  readonly rest: (runs: number) => string;
  readonly none: string;
  readonly button: (runs: number) => string;
  readonly did: (runs: number) => string;
  /** Why a run is left as it is; undefined when it is not. */
  readonly skips: (run: Run) => string | undefined;
  /** Of all that a search finds, those that are worth asking for; undefined when there are none. */
  readonly narrowed: (search: RunsSearch) => RunsSearch | undefined;
  readonly act: (reason: string, known: (run: RunName) => Run | undefined) => Bulk["act"];
}

const ended = "had already ended";

export const abortKind: BulkKind = {
  key: "abort",
  verb: "Abort",
  title: "Abort runs",
  about: "They and everything below them are stopped. What has ended keeps its phase and its outputs.",
  danger: true,
  reason: true,
  asks: (runs) => `${plural(runs, "run")} will be aborted.`,
  rest: (runs) => `${plural(runs, "run has", "runs have")} already ended and ${runs === 1 ? "stays" : "stay"} as they are.`,
  none: "None of these runs is under way.",
  button: (runs) => `Abort ${plural(runs, "run")}`,
  did: (runs) => `${plural(runs, "run is", "runs are")} being aborted.`,
  skips: (run) => (isTerminal(phaseOf(run)) ? ended : undefined),
  narrowed: (search) => {
    const live = phases.filter(({ phase }) => isLive(phase)).map(({ key }) => key);
    const wanted = search.phases?.split(",");
    const both = wanted ? live.filter((key) => wanted.includes(key)) : live;
    return both.length > 0 ? patched(search, { phases: both.join(",") }) : undefined;
  },
  act: (reason, known) => async (run, signal) => {
    // The server takes an abort of what has ended as well, and does nothing.
    const before = known(run);
    if (before && isTerminal(phaseOf(before))) return { kind: "skipped", why: ended };
    await client(RunService).abortRun({ runId: run, ...(reason && { reason }) }, { signal });
    return { kind: "done" };
  },
};

export const rerunKind: BulkKind = {
  key: "rerun",
  verb: "Run again",
  title: "Run again",
  about: "Each is run as it was: the same version of its task, the same inputs and options.",
  danger: false,
  reason: false,
  asks: (runs) => `${plural(runs, "new run")} will be made.`,
  rest: () => "",
  none: "There is no run to run again.",
  button: (runs) => `Run ${plural(runs, "run")} again`,
  did: (runs) => `${plural(runs, "new run")} ${runs === 1 ? "is" : "are"} made.`,
  skips: () => undefined,
  narrowed: (search) => search,
  act: () => {
    const names = new Map<string, Names>();
    return async (run) => {
      const [{ runAgain }, { Names }] = await Promise.all([import("@/features/launch/again"), import("@/features/launch/submit")]);
      // A second try is the same request, so that one whose answer was lost makes no second run.
      const known = names.get(run.name) ?? new Names();
      names.set(run.name, known);
      return { kind: "done", made: await runAgain(run, known) };
    };
  },
};

/** Everything that can be done to many runs. */
export const bulkKinds: readonly BulkKind[] = [abortKind, rerunKind];
