import type { Role } from "@gen/flytebinary/access/v1/access_pb.js";
import type { RunWait } from "@gen/flytebinary/insight/v1/waits_pb.js";
import { kindOfWait, type WaitKind } from "@/entities/run/waits";

/** What ends a wait, and the permission that it takes; no permission for what is in the configuration of the server. */
const changes: Readonly<Record<WaitKind, readonly (readonly [what: string, permission: string | undefined])[]>> = {
  person: [["Answer the approval", "action.signal"]],
  queue: [
    ["Abort what is in front", "run.abort"],
    ["Raise the limit of the queue in runs.queues", undefined],
  ],
  capacity: [["Add capacity, or let a cluster take work", "cluster.update"]],
  image: [["Rerun with another image", "run.create"]],
  limit: [
    ["Abort what is in front", "run.abort"],
    ["Raise the limit in the configuration", undefined],
  ],
  other: [["Abort the run", "run.abort"]],
};

const holds = ({ permissions }: Role, permission: string): boolean => {
  const [noun = "", verb = ""] = permission.split(".");
  return permissions.some((one) => one === permission || one === `${noun}.*` || one === `*.${verb}` || one === "*.*");
};

/** One way to end a wait: what to do, and who may. */
export interface Change {
  readonly what: string;
  readonly who: string;
}

/** Who can change a wait. Without roles, access is open and everyone may. */
export function changesOf({ wait }: Pick<RunWait, "wait">, roles: readonly Role[]): readonly Change[] {
  if (!wait) return [];
  return changes[kindOfWait(wait)].map(([what, permission]) => {
    if (permission === undefined) return { what, who: "operators of the server" };
    const named = roles.filter((role) => holds(role, permission)).map(({ name }) => name);
    return { what, who: named.length === 0 ? "everyone" : `roles ${named.join(", ")}` };
  });
}
