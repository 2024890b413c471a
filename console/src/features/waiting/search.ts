import type { WaitKind } from "@/entities/run/waits";
import { t } from "@/texts/texts";

/** The kinds in their order, with the words of their filters. */
export const kinds: readonly (readonly [WaitKind, string])[] = [
  ["person", t("People")],
  ["queue", t("Queues")],
  ["capacity", t("Capacity")],
  ["image", t("Images")],
  ["limit", t("Limits")],
  ["other", t("Other")],
];

/** The URL parameters: only one kind of waits. */
export interface WaitingSearch {
  readonly kind?: WaitKind;
}

/** Parses the parameters and drops unknown ones. */
export function WaitingSearch(search: Record<string, unknown>): WaitingSearch {
  const known = kinds.find(([kind]) => kind === search["kind"]);
  return known ? { kind: known[0] } : {};
}
