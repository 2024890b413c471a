import { read, write } from "@/app/storage";

const hour = 3_600_000;
const day = 24 * hour;
const isTime = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

/**
 * Since when failures are new, in milliseconds: the last look, but not longer ago than a week, or a day ago if there was none. Days begin
 * at a full hour, so that a page that comes back asks what it asked before.
 */
export function lastLook(now: number = Date.now()): number {
  const at = read("looked-at", isTime);
  const recent = Math.floor(now / hour) * hour;
  return at === undefined || at > now ? recent - day : Math.max(at, recent - 7 * day);
}

/** Remembers that the reader has seen what failed until now, and returns the time. */
export function look(now: number = Date.now()): number {
  write("looked-at", now);
  return now;
}
