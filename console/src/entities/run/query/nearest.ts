/**
 * The known word from which a typed one differs least, if that is a slip of the keyboard: one change in up to four letters, two in
 * more. Words of up to three letters have too many neighbors. The empty text if there is none.
 */
export function nearest(typed: string, known: readonly string[]): string {
  // The server counts bytes.
  const bytes = new TextEncoder().encode(typed);
  if (bytes.length < 3) return "";
  let best = bytes.length <= 4 ? 2 : 3;
  let found = "";
  for (const one of known) {
    if (one.length < 4) continue;
    const d = distance(bytes, new TextEncoder().encode(one));
    if (d < best) [best, found] = [d, one];
  }
  return found;
}

/** The letters to insert, remove or replace. */
function distance(a: Uint8Array, b: Uint8Array): number {
  const row = Array.from({ length: b.length + 1 }, (_, j) => j);
  a.forEach((x, i) => {
    let before = row[0] ?? 0;
    row[0] = i + 1;
    b.forEach((y, j) => {
      const cost = x === y ? before : before + 1;
      before = row[j + 1] ?? 0;
      row[j + 1] = Math.min(cost, (row[j] ?? 0) + 1, before + 1);
    });
  });
  return row[b.length] ?? 0;
}
