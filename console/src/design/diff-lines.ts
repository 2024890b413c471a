/** Consecutive lines of one kind. Unchanged lines far from any change are skipped. */
export interface Hunk {
  readonly kind: "added" | "removed" | "same" | "skipped";
  readonly lines: readonly string[];
}

/** A part of a comparison, as the library returns it. */
export interface Change {
  readonly value: string;
  readonly added?: boolean;
  readonly removed?: boolean;
}

/** How many unchanged lines are shown around a change. */
const context = 3;

/** Groups the parts of a comparison into hunks. */
export function hunksOf(changes: readonly Change[]): readonly Hunk[] {
  const hunks: Hunk[] = [];
  const push = (kind: Hunk["kind"], lines: readonly string[]) => lines.length > 0 && hunks.push({ kind, lines });
  changes.forEach((change, at) => {
    const lines = change.value.replace(/\n$/, "").split("\n");
    if (change.added) push("added", lines);
    else if (change.removed) push("removed", lines);
    else {
      const before = at === 0 ? 0 : context;
      const after = at === changes.length - 1 ? 0 : context;
      // A gap of one line would be as high as the line itself.
      if (lines.length <= before + after + 1) push("same", lines);
      else {
        push("same", lines.slice(0, before));
        push("skipped", lines.slice(before, lines.length - after));
        push("same", lines.slice(lines.length - after));
      }
    }
  });
  return hunks;
}
