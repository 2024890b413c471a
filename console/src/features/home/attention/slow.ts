import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { msOf } from "@/design/format";

/** How long the runs of a task usually take. */
export interface Usual {
  readonly key: string;
  /** How many succeeded. */
  readonly ended: number;
  /** What nine of ten took at most, in milliseconds. */
  readonly p90: number | undefined;
}

/** A run that is younger than this, or of a task with fewer runs, is not called slow. */
export const enough = { ms: 60_000, ended: 5 };

/** The task of a run, with its place; undefined for runs of no task. */
export function taskOf(run: Run) {
  const spec = run.action?.metadata?.spec;
  const id = run.action?.id?.run;
  const name = spec?.case === "task" ? spec.value.id?.name : undefined;
  if (!id || !name) return undefined;
  return { key: `${id.project}/${id.domain}/${name}`, project: id.project, domain: id.domain, name };
}

/** The runs that take longer than usual, and what is usual; the one that exceeds it most first. */
export function slowOf(runs: readonly Run[], usual: readonly Usual[], now: number): readonly { readonly run: Run; readonly usual: number }[] {
  const byTask = new Map(usual.map((one) => [one.key, one]));
  const late = ({ run, usual: ms }: { run: Run; usual: number }) => (now - (msOf(run.action?.status?.startTime) ?? now)) / ms;
  return runs
    .flatMap((run) => {
      const known = byTask.get(taskOf(run)?.key ?? "");
      return known?.p90 === undefined || known.p90 <= 0 || known.ended < enough.ended ? [] : [{ run, usual: known.p90 }];
    })
    .filter((one) => late(one) > 1)
    .sort((a, b) => late(b) - late(a));
}
