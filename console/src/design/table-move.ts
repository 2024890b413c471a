const within = "a[href], button, input, [tabindex='0']";

/** Focuses the first link or control of the row that is a step from the focused one, or of the first row. Reports whether there is one. */
export function move(table: HTMLTableElement | null, step: number): boolean {
  const rows = [...(table?.querySelectorAll("tbody > tr") ?? [])].filter((row) => row.querySelector(within) !== null);
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step))]?.querySelector<HTMLElement>(within);
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return next !== null && next !== undefined;
}
