import { WallClock } from "@/design/wall-clock";

/** The text of a datetime-local control for a time, in a time zone; empty for undefined. */
export function localText(at: Date | undefined, zone: string | undefined): string {
  if (!at || Number.isNaN(at.getTime())) return "";
  return new WallClock(zone).text(at.getTime()).slice(0, "2026-01-01T00:00".length);
}

/** The moment that the text of a datetime-local control means in a time zone. */
export function momentOf(text: string, zone: string | undefined): Date | undefined {
  const shown = Date.parse(`${text}Z`);
  return Number.isNaN(shown) ? undefined : new Date(new WallClock(zone).moment(shown));
}
