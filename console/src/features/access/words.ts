import { MemberKind, type Account, type AuditEvent, type Binding, type Key, type Limit, type Member, type Role } from "@gen/flytebinary/access/v1/access_pb.js";
import { bytes, msOf } from "@/design/format";
import { isForPeople, permissionGroups, permissionWords } from "@/entities/access/permissions";
import { gives } from "@/entities/access/rights";
import { count, t } from "@/texts/texts";

export const memberKinds: readonly (readonly [MemberKind, string])[] = [
  [MemberKind.USER, t("User")],
  [MemberKind.GROUP, t("Group")],
  [MemberKind.KEY, t("API key")],
];

/** What kind a member is. */
export const kindWords = (member: Member | undefined): string => memberKinds.find(([kind]) => kind === member?.kind)?.[1] ?? t("Unknown");

/** How a member is called: a key by its name, since its id means nothing to people. */
export const memberName = ({ member, keyName }: Binding): string => keyName || (member?.name ?? "");

/** The state of a key, from its times. */
export function keyState(key: Pick<Key, "revokedAt" | "expiresAt">, now: number): "active" | "expired" | "revoked" {
  if (key.revokedAt) return "revoked";
  const ends = msOf(key.expiresAt);
  return ends !== undefined && ends <= now ? "expired" : "active";
}

/** The state of a local account, from its times. */
export function accountState({ removedAt, lockedUntil }: Pick<Account, "removedAt" | "lockedUntil">, now: number): "active" | "locked" | "removed" {
  if (removedAt) return "removed";
  return (msOf(lockedUntil) ?? 0) > now ? "locked" : "active";
}

/** What is wrong with the name of a new account; empty if nothing is. */
export const accountNameError = (name: string): string => (/^[^|\s]+$/.test(name) ? "" : t("A name is required, without spaces and |."));

/** What is wrong with a new password; empty if nothing is. */
export function passwordError(password: string): string {
  const bytes = new TextEncoder().encode(password).length;
  return bytes < 8 || bytes > 1024 ? t("A password has 8 to 1024 bytes.") : "";
}

/** The groups of a text with commas between them. */
export const groupsOf = (text: string): string[] => [...new Set(text.split(",").map((group) => group.trim()))].filter((group) => group !== "");

const units: Readonly<Record<string, string>> = { "1": t("a second"), "60": t("a minute"), "3600": t("an hour"), "86400": t("a day") };

/** What a caller or a project has in the object store; measured at times, in bytes. */
export const storedBytes = t("stored bytes");

/** What a caller or a project uploads in a day. */
export const uploadedBytes = t("uploaded bytes");

/** A limit in words. */
export function limitWords({ things, most, per, burst, each }: Pick<Limit, "things" | "most" | "per" | "burst" | "each">): string {
  if (most === 0n) return t("No limit");
  if (things === storedBytes) return bytes(Number(most));
  if (things === uploadedBytes) return t("{size} a day", { size: bytes(Number(most)) });
  if (each) return t("{count} in each", { count: count(most) });
  if (!per) return t("{count} at the same time", { count: count(most) });
  const words = `${count(most)} ${units[per.seconds.toString()] ?? t("in {seconds} s", { seconds: count(per.seconds) })}`;
  return burst > most ? t("{words}, {burst} at once after a pause", { words, burst: count(burst) }) : words;
}

/** What is left of a limit, in words. */
export function leftWords({ things, most, burst, left, each, measuredAt }: Pick<Limit, "things" | "most" | "burst" | "left" | "each" | "measuredAt">): string {
  if (most === 0n || each) return "";
  if (things === storedBytes && !measuredAt) return t("Not measured yet");
  if (left <= 0n) return t("None");
  return things === storedBytes || things === uploadedBytes ? bytes(Number(left)) : t("{left} of {burst}", { left: count(left), burst: count(burst) });
}

/** What a role may do, in words, by group. Permissions that are not for people are shown as they are. */
export function abilities(role: Pick<Role, "permissions">): readonly (readonly [group: string, words: readonly string[]])[] {
  const wordsOf = (permissions: readonly string[]) => permissions.filter((one) => gives(role, one)).map(permissionWords);
  const grouped = permissionGroups.map(({ title, permissions }) => [title, wordsOf(Object.keys(permissions))] as const);
  const other = role.permissions.filter((pattern) => !pattern.includes("*") && !isForPeople(pattern));
  return [...grouped, [t("Other"), other] as const].filter(([, words]) => words.length > 0);
}

/** What the form of a role has: the chosen permissions, and everything else as text, such as patterns. */
export interface RoleDraft {
  readonly chosen: ReadonlySet<string>;
  readonly patterns: string;
}

export const draftOf = (permissions: readonly string[]): RoleDraft => ({
  chosen: new Set(permissions.filter(isForPeople)),
  patterns: permissions.filter((permission) => !isForPeople(permission)).join(" "),
});

const patternsOf = ({ patterns }: RoleDraft): readonly string[] => patterns.split(/[\s,]+/).filter((pattern) => pattern !== "");

/** Whether a pattern of the form gives a permission already. */
export const givenByPattern = (draft: RoleDraft, permission: string): boolean => gives({ permissions: [...patternsOf(draft)] }, permission);

/** The permissions of a role as the form has them: none that a pattern gives already. */
export const permissionsOf = (draft: RoleDraft): string[] => [
  ...new Set([...patternsOf(draft), ...[...draft.chosen].filter((permission) => !givenByPattern(draft, permission)).toSorted()]),
];

/** What an outcome says about the call, if its name does not say it. */
export const outcomeNote = ({ outcome, permission }: Pick<AuditEvent, "outcome" | "permission">): string =>
  outcome === "unknown" && permission !== "" ? t("The server stopped before the call ended. The change may or may not have been made.") : "";

/** How long a new key may be valid, in days. */
export const lifetimes: readonly (readonly [days: number, words: string])[] = [
  [1, "1 day"],
  [7, "7 days"],
  [30, "30 days"],
  [90, "90 days"],
  [0, t("The longest that is allowed")],
];

/** What a procedure or a route does, without the name of its package. */
export const procedureWords = (procedure: string): string => procedure.replace(/^\/?.*\.([A-Za-z]+)\/(\w+)$/, "$1.$2");
