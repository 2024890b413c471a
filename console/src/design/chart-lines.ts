/** The next round number: 1, 2 or 5 times a power of ten. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((one) => one * power >= value * (1 - 1e-9)) ?? 10;
  return step * power;
}

/** Splits a series at missing values, so that no line is drawn there. Heights are from 0 to 1. */
export function pieces(values: readonly (number | undefined)[], max: number): (readonly (readonly [at: number, height: number])[])[] {
  const found: (readonly [number, number])[][] = [];
  let open: (readonly [number, number])[] | undefined;
  values.forEach((value, at) => {
    if (value === undefined) {
      open = undefined;
      return;
    }
    if (!open) {
      open = [];
      found.push(open);
    }
    open.push([at, Math.min(1, value / max)]);
  });
  return found;
}
