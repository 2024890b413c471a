import type { Amounts, UsagePoint } from "@gen/flytebinary/insight/v1/usage_pb.js";
import { bytes, msOf } from "@/design/format";
import { t } from "@/texts/texts";

/** A resource with its place in the messages, and how people write amounts of it. */
export interface Resource {
  readonly title: string;
  readonly of: (amounts: Amounts | undefined) => number | undefined;
  readonly write: (value: number) => string;
}

const number = (value: bigint | undefined): number | undefined => (value === undefined ? undefined : Number(value));

/** Thousandths of a core as cores. */
export const cores = (milli: number): string => `${Number((milli / 1000).toPrecision(milli < 1000 ? 2 : 3))} ${milli === 1000 ? "core" : "cores"}`;

export const cpu: Resource = { title: "CPU", of: (amounts) => number(amounts?.cpuMilli), write: cores };
export const memory: Resource = { title: t("Memory"), of: (amounts) => number(amounts?.memoryBytes), write: bytes };

export const resources: readonly Resource[] = [
  cpu,
  memory,
  { title: "GPU", of: (amounts) => number(amounts?.gpuPercent), write: (value) => `${Math.round(value)} %` },
  { title: t("GPU memory"), of: (amounts) => number(amounts?.gpuMemoryBytes), write: bytes },
  { title: t("Disk"), of: (amounts) => number(amounts?.diskBytes), write: bytes },
];

/** How many columns a chart has at most. */
const columns = 120;

/**
 * Spreads the points of a curve over columns of equal time. A point holds from the one before it to its own time; a column has the most
 * of its points, and nothing where no point holds.
 */
export function spread(points: readonly UsagePoint[], of: Resource["of"]): readonly (number | undefined)[] {
  const times = points.map((point) => msOf(point.at) ?? 0);
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined) return [];
  const count = Math.min(columns, points.length);
  const step = Math.max(1, last - first) / Math.max(1, count - 1);
  const values: (number | undefined)[] = Array.from({ length: count }, () => undefined);
  const column = (time: number) => Math.min(count - 1, Math.round((time - first) / step));
  points.forEach((point, at) => {
    const value = of(point.used);
    if (value === undefined) return;
    const to = column(times[at] ?? first);
    const from = at === 0 ? to : Math.min(to, column(times[at - 1] ?? first) + 1);
    for (let one = from; one <= to; one++) values[one] = Math.max(values[one] ?? 0, value);
  });
  return values;
}

/** The time of a column. */
export function timeOf(points: readonly UsagePoint[], column: number): Date | undefined {
  const [first, last] = [msOf(points[0]?.at), msOf(points.at(-1)?.at)];
  if (first === undefined || last === undefined) return undefined;
  return new Date(first + (column * (last - first)) / Math.max(1, Math.min(columns, points.length) - 1));
}

/** Of the largest line, so that the number at the top of a chart has room above it. */
const headroom = 1.25;

/** What a chart shows at its top: all lines that are not far above the curve. */
export function topOf(peak: number, lines: readonly (number | undefined)[]): number {
  const near = lines.filter((line): line is number => line !== undefined && line <= 5 * Math.max(peak, 1));
  return Math.max(1, peak, ...near) * headroom;
}
