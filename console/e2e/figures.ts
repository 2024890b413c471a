/** The value that this share of the sorted values does not exceed. */
export const at = (sorted: readonly number[], share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

/** Prints rows as a table of Markdown. */
export function print(title: string, rows: readonly (readonly [what: string, figure: string])[]): void {
  const width = Math.max(...rows.map(([what]) => what.length));
  console.log(`\n${title}\n`);
  for (const [what, figure] of rows) console.log(`| ${what.padEnd(width)} | ${figure} |`);
}
