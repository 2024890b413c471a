import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunSource, type Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import type { Place } from "@/app/place";
import type { RunName } from "./kind";

export const nameOf = (run: Run): string => run.action?.id?.run?.name ?? "";
export const isTracked = (run: Run): boolean => run.action?.metadata?.source === RunSource.TRACKED;

const trackedPrefix = "tracked:";

/** Identifies a run in a list with both kinds: the name, with a prefix for tracked runs. */
export const keyOf = (run: Run): string => `${isTracked(run) ? trackedPrefix : ""}${nameOf(run)}`;

/** The run that a key identifies. */
export const runOfKey = (place: Place, key: string): RunName =>
  key.startsWith(trackedPrefix) ? { ...place, name: key.slice(trackedPrefix.length), tracked: true } : { ...place, name: key };

export const keyOfName = ({ name, tracked }: RunName): string => `${tracked ? trackedPrefix : ""}${name}`;

/** The names of the runs with these keys, of one kind. */
export const namesOf = (keys: readonly string[], tracked: boolean): readonly string[] =>
  keys.filter((key) => key.startsWith(trackedPrefix) === tracked).map((key) => (tracked ? key.slice(trackedPrefix.length) : key));

export const phaseOf = (run: Run): ActionPhase => run.action?.status?.phase ?? ActionPhase.UNSPECIFIED;

/** The name of the trigger that started a run; empty if none did. */
export const triggerOf = (run: Run): string => run.action?.metadata?.triggerId?.name?.name ?? run.action?.metadata?.triggerName ?? "";

/** The user ID of the starter of a run. */
export function ownerOf(run: Run): string {
  const by = run.action?.metadata?.executedBy?.principal;
  return by?.case === undefined ? "" : (by.value.id?.subject ?? "");
}
