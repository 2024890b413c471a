/**
 * Scrolls a row of links or tabs sideways until the selected one is visible: on a phone the row is wider than the screen. Not
 * scrollIntoView, which may scroll the page as well.
 */
export function showSelected(row: HTMLElement | null, selector: string): void {
  const selected = row?.querySelector(selector);
  if (!row || !selected) return;
  const visible = row.getBoundingClientRect();
  const { left, right } = selected.getBoundingClientRect();
  if (left < visible.left) row.scrollLeft -= visible.left - left;
  else if (right > visible.right) row.scrollLeft += right - visible.right;
}
