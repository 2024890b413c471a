/** What a run has, as texts by name: inputs, numbers of outputs, times. */
export interface Measured {
  readonly key: string;
  readonly name: string;
  readonly values: ReadonlyMap<string, string>;
}

/** A run in a scatter plot. */
export interface Point {
  readonly key: string;
  readonly name: string;
  readonly x: number;
  readonly y: number;
}

const numberOf = (text: string | undefined): number | undefined => {
  if (text === undefined || text.trim() === "") return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
};

/** The names of which at least two runs have a number, in the order in which they first occur. */
export function axesOf(runs: readonly Measured[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { values } of runs) {
    for (const [name, text] of values) if (numberOf(text) !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count > 1).map(([name]) => name);
}

/** The runs that have numbers for both, in their order. */
export const pointsOf = (runs: readonly Measured[], x: string, y: string): readonly Point[] =>
  runs.flatMap(({ key, name, values }) => {
    const [a, b] = [numberOf(values.get(x)), numberOf(values.get(y))];
    return a === undefined || b === undefined ? [] : [{ key, name, x: a, y: b }];
  });

/** Round numbers that span values: at least two, so that equal values have an axis too. */
export function ticksOf(values: readonly number[], about = 5): readonly number[] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const span = high > low ? high - low : Math.abs(high) || 1;
  const power = 10 ** Math.floor(Math.log10(span / about));
  const step = power * ([1, 2, 5, 10].find((one) => power * one * about >= span) ?? 10);
  const [from, to] = [Math.floor(low / step), Math.max(Math.ceil(high / step), Math.floor(low / step) + 1)];
  return Array.from({ length: to - from + 1 }, (_, at) => Number(((from + at) * step).toPrecision(12)));
}
