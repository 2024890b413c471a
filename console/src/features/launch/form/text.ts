import { WallClock } from "@/design/wall-clock";

// Parsers for typed numbers, times and durations.

const int64Limit = 2n ** 63n;

/** The digits of a 64 bit integer, without underscores and spaces; undefined if it is not valid. */
export function parseInteger(text: string): string | undefined {
  const digits = text.trim().replace(/(?<=\d)[_ ](?=\d)/g, "");
  if (!/^[+-]?\d+$/.test(digits)) return undefined;
  const value = BigInt(digits.replace("+", ""));
  return value >= -int64Limit && value < int64Limit ? value.toString() : undefined;
}

/** A float, including NaN and infinities; undefined if it is not valid. */
export function parseFloating(text: string): number | undefined {
  const word = text.trim().replace(/(?<=\d)_(?=\d)/g, "");
  const special = /^([+-]?)inf(inity)?$/i.exec(word);
  if (special) return special[1] === "-" ? -Infinity : Infinity;
  if (/^nan$/i.test(word)) return NaN;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(word)) return undefined;
  const value = Number(word);
  return Number.isFinite(value) ? value : undefined;
}

const seconds: Readonly<Record<string, number>> = { w: 604_800, d: 86_400, h: 3600, m: 60, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9 };

/** A duration in seconds: 90, 1h30m, 2d 4h, 01:30:00 or PT1H30M. */
export function parseSpan(text: string): number | undefined {
  const word = text.trim();
  if (/^[+-]?(\d+\.?\d*|\.\d+)$/.test(word)) return Number(word);
  const clock = /^(-?)(\d+):(\d{1,2})(?::(\d{1,2}(?:\.\d+)?))?$/.exec(word);
  if (clock) {
    const [, sign, hours = "0", minutes = "0", secs = "0"] = clock;
    return (sign ? -1 : 1) * (Number(hours) * 3600 + Number(minutes) * 60 + Number(secs));
  }
  const iso = /^(-?)P(?:(\d+(?:\.\d+)?)W)?(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$/i.exec(word);
  if (iso && /\d/.test(word)) {
    const [, sign, weeks = "0", days = "0", hours = "0", minutes = "0", secs = "0"] = iso;
    return (sign ? -1 : 1) * (Number(weeks) * 604_800 + Number(days) * 86_400 + Number(hours) * 3600 + Number(minutes) * 60 + Number(secs));
  }
  const parts = /^([+-]?)((?:\d+\.?\d*|\.\d+)\s*(?:w|d|h|ms|us|µs|ns|m|s)\s*)+$/.exec(word);
  if (!parts) return undefined;
  let sum = 0;
  for (const [, amount = "0", unit = "s"] of word.matchAll(/(\d+\.?\d*|\.\d+)\s*(ms|us|µs|ns|w|d|h|m|s)/g)) sum += Number(amount) * (seconds[unit] ?? 1);
  return parts[1] === "-" ? -sum : sum;
}

/** A duration in the format of the server, to the nanosecond. */
export function spanText(total: number): string {
  return `${Number(total.toFixed(9))}s`;
}

const time = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?$/i;

/** A time as RFC 3339 in UTC. Text without an offset is local time of the zone, by default the browser's. */
export function parseTime(text: string, zone: string | undefined): string | undefined {
  const found = time.exec(text.trim());
  if (!found) return undefined;
  const [, year = "", month = "", day = "", hour = "00", minute = "00", second = "00", part = "", given] = found;
  const wall = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (Number.isNaN(wall) || new Date(wall).getUTCDate() !== Number(day)) return undefined;
  let at: number;
  if (given === undefined) {
    at = new WallClock(zone).moment(wall);
  } else if (/^(z|utc)$/i.test(given)) {
    at = wall;
  } else {
    const ahead = (Number(given.slice(1, 3)) * 60 + Number(given.slice(-2))) * 60_000;
    at = given.startsWith("-") ? wall + ahead : wall - ahead;
  }
  return `${new Date(at).toISOString().slice(0, 19)}${part}Z`;
}
