import type { RunModel } from "@/entities/run/model/run-model";
import type { Shown } from "./controller";
import { placeOf, rowAt } from "./order";
import { describe } from "./words";

export const rowId = (row: number): string => `timeline-row-${row}`;

/** How many rows before and after the selected one are exposed to screen readers. */
const nearby = 3;

/** The rows around the selected one as text, since screen readers cannot read the canvas. */
export function SpokenRows({ model, shown }: { readonly model: RunModel; readonly shown: Shown }) {
  const { order, cursor } = shown;
  const place = Math.max(0, placeOf(order, cursor));
  const first = Math.max(0, place - nearby);
  const rows = Array.from({ length: Math.min(order.length, place + nearby + 1) - first }, (_, i) => first + i);
  const onPath = new Set(shown.path?.shares.map((share) => share.row));
  return rows.map((at) => {
    const row = rowAt(order, at);
    return (
      <div
        key={row}
        id={rowId(row)}
        role="option"
        className="visually-hidden"
        aria-selected={row === cursor}
        aria-posinset={at + 1}
        aria-setsize={order.length}
      >
        {describe(model, row, model.now, onPath.has(row))}
      </div>
    );
  });
}
