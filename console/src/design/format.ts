import { timestampMs, type Timestamp } from "@bufbuild/protobuf/wkt";
import { kept } from "@/texts/kept";
import { language } from "@/texts/language";
import { count, fixed, t } from "@/texts/texts";

export { count, fixed };

const units: readonly [number, string][] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "m"],
  [1000, "s"],
];

/** A duration of milliseconds in at most two units: "850 ms", "4.2 s", "3 m 05 s", "2 d 4 h". */
export function duration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${fixed(Math.floor(ms / 100) / 10, 1)} s`;
  const at = units.findIndex(([size]) => ms >= size);
  const [size, unit] = units[at] ?? [1, "ms"];
  const [nextSize, nextUnit] = units[at + 1] ?? [1, "ms"];
  const whole = Math.floor(ms / size);
  const remainder = Math.floor((ms - whole * size) / nextSize);
  return remainder === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${String(remainder).padStart(2, "0")} ${nextUnit}`;
}

/** How long ago, in one unit: "12 s ago". */
export function ago(ms: number): string {
  if (ms < 5000) return t("just now");
  const [size, unit] = units.find(([limit]) => ms >= limit) ?? [1000, "s"];
  return t("{time} ago", { time: `${Math.floor(ms / size)} ${unit}` });
}

const sizes = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(n: number): string {
  let unit = 0;
  while (n >= 1024 && unit < sizes.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${n < 10 && unit > 0 ? fixed(n, 1) : Math.round(n)} ${sizes[unit] ?? ""}`;
}

/** A moment in a time zone, to the second; with the date unless it is today. */
export function moment(at: Date, zone: string | undefined, now: Date = new Date()): string {
  const time = times(zone).format(at);
  const date = dates(zone).format(at);
  return date === dates(zone).format(now) ? time : `${date} ${time}`;
}

/** A moment with date, milliseconds and zone, for tooltips and copies. */
export function exactly(at: Date, zone: string | undefined): string {
  return `${datesAndTimes(zone).format(at)}.${String(at.getMilliseconds()).padStart(3, "0")} ${zoneName(zone, at)}`.trim();
}

/** A zone in short, as it is at a moment: "UTC", "GMT+2"; that of the browser if none is given. */
export const zoneName = (zone: string | undefined, at: Date = new Date()): string =>
  zoneNames(zone).formatToParts(at).find((part) => part.type === "timeZoneName")?.value ?? "";

// Formats by their zones. Each takes far longer to make than to use.
type Zone = string | undefined;
const dates = kept((timeZone: Zone) => new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeZone }));
const times = kept((timeZone: Zone) => new Intl.DateTimeFormat("sv-SE", { timeStyle: "medium", timeZone }));
const datesAndTimes = kept((timeZone: Zone) => new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium", timeZone }));
const zoneNames = kept((timeZone: Zone) => new Intl.DateTimeFormat(language, { timeZone, timeZoneName: "short" }));

export const dateOf = (at: Timestamp | undefined): Date | undefined => (at ? new Date(timestampMs(at)) : undefined);
export const msOf = (at: Timestamp | undefined): number | undefined => (at ? timestampMs(at) : undefined);
