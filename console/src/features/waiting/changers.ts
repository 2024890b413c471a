import type { Role } from "@gen/flytebinary/access/v1/access_pb.js";
import type { RunWait } from "@gen/flytebinary/insight/v1/waits_pb.js";
import { gives } from "@/entities/access/rights";
import { kindOfWait, type WaitKind } from "@/entities/run/waits";
import { t } from "@/texts/texts";

/** What ends a wait, and the permission that it takes; no permission for what is in the configuration of the server. */
const changes: Readonly<Record<WaitKind, readonly (readonly [what: string, permission: string | undefined])[]>> = {
  person: [[t("Answer the approval"), "action.signal"]],
  queue: [
    [t("Abort what is in front"), "run.abort"],
    [t("Raise the limit of the queue in runs.queues"), undefined],
  ],
  capacity: [[t("Add capacity, or let a cluster take work"), "cluster.update"]],
  image: [[t("Rerun with another image"), "run.create"]],
  limit: [
    [t("Abort what is in front"), "run.abort"],
    [t("Raise the limit in the configuration"), undefined],
  ],
  other: [[t("Abort the run"), "run.abort"]],
};

/** One way to end a wait: what to do, and who may. */
export interface Change {
  readonly what: string;
  readonly who: string;
}

/** Those who may: all where access is open, else roles; undefined until that is known. */
export type Deciders = "everyone" | readonly Role[] | undefined;

/** What ends a wait, and who may do it. */
export function changesOf({ wait }: Pick<RunWait, "wait">, deciders: Deciders): readonly Change[] {
  if (!wait) return [];
  return changes[kindOfWait(wait)].map(([what, permission]) => ({ what, who: permission === undefined ? t("operators of the server") : whoMay(permission, deciders) }));
}

function whoMay(permission: string, deciders: Deciders): string {
  if (deciders === undefined || deciders === "everyone") return deciders ?? "";
  const names = deciders.filter((role) => gives(role, permission)).map(({ name }) => name);
  return names.length === 0 ? t("no role") : `${names.length === 1 ? "role" : "roles"} ${names.join(", ")}`;
}
