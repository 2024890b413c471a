import { MemberKind, type Key, type Member, type Role } from "@gen/flytebinary/access/v1/access_pb.js";
import { msOf } from "@/design/format";
import { gives } from "@/entities/access/rights";

export const memberKinds: readonly (readonly [MemberKind, string])[] = [
  [MemberKind.USER, "User"],
  [MemberKind.GROUP, "Group"],
  [MemberKind.KEY, "API key"],
];

/** What kind a member is. */
export const kindWords = (member: Member | undefined): string => memberKinds.find(([kind]) => kind === member?.kind)?.[1] ?? "Unknown";

/** The state of a key, from its times. */
export function keyState(key: Pick<Key, "revokedAt" | "expiresAt">, now: number): "active" | "expired" | "revoked" {
  if (key.revokedAt) return "revoked";
  const ends = msOf(key.expiresAt);
  return ends !== undefined && ends <= now ? "expired" : "active";
}

/** What a role may do, by the noun of its permissions: "runs: view, create, abort". */
export function abilities(role: Role, permissions: readonly string[]): readonly (readonly [noun: string, verbs: string])[] {
  const found = new Map<string, string[]>();
  for (const permission of permissions.filter((one) => gives(role, one))) {
    const [noun = "", verb = ""] = permission.split(".");
    found.set(noun, [...(found.get(noun) ?? []), verb]);
  }
  return [...found].map(([noun, verbs]) => [noun, verbs.join(", ")] as const);
}

/** How long a new key may be valid, in days. */
export const lifetimes: readonly (readonly [days: number, words: string])[] = [
  [1, "1 day"],
  [7, "7 days"],
  [30, "30 days"],
  [90, "90 days"],
  [0, "The longest that is allowed"],
];

/** What a procedure or a route does, without the name of its package. */
export const procedureWords = (procedure: string): string => procedure.replace(/^\/?.*\.([A-Za-z]+)\/(\w+)$/, "$1.$2");
