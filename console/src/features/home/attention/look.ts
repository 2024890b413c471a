import { read, write } from "@/app/storage";

const day = 24 * 3_600_000;
const isTime = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

/** Since when failures are new, in milliseconds: the last look, or a day ago if there was none, or if it was longer ago than a week. */
export function lastLook(now: number = Date.now()): number {
  const at = read("looked-at", isTime);
  return at === undefined || at > now ? now - day : Math.max(at, now - 7 * day);
}

/** Remembers that the reader has seen what failed until now, and returns the time. */
export function look(now: number = Date.now()): number {
  write("looked-at", now);
  return now;
}
