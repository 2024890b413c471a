import { useState, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import { read, write } from "@/app/storage";
import css from "./split.module.css";

// In percent: with less, a part has no room for its toolbar.
const minShare = 20;
const maxShare = 80;
const step = 4;

export interface SplitProps {
  /** The key under which the browser stores the share. */
  readonly name: string;
  /** The accessible name of the divider. */
  readonly label: string;
  /** The initial share of the first part, in percent. */
  readonly share: number;
  readonly first: ReactNode;
  /** If undefined, the first part gets all the space. */
  readonly second: ReactNode;
  /** Whether the user opened the second part. On narrow screens it then covers the first. */
  readonly secondChosen: boolean;
}

const isShare = (value: unknown): value is number => typeof value === "number" && value >= minShare && value <= maxShare;

/** Two parts side by side with a movable divider; stacked on narrow screens. */
export function Split({ name, label, share, first, second, secondChosen }: SplitProps) {
  const [own, setOwn] = useState(() => read(`split:${name}`, isShare));
  const now = own ?? share;
  const set = (next: number) => {
    const kept = Math.round(Math.min(maxShare, Math.max(minShare, next)));
    setOwn(kept);
    write(`split:${name}`, kept);
  };
  const drag = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.parentElement?.getBoundingClientRect();
    // The pointer is captured while its button is down; other moves only pass over the divider.
    if (!event.currentTarget.hasPointerCapture(event.pointerId) || !box) return;
    set(((event.clientX - box.left) / box.width) * 100);
  };
  const press = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -step, ArrowRight: step }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    set(now + by);
  };
  return (
    <div
      className={css["split"]}
      data-second={second ? (secondChosen ? "chosen" : "there") : undefined}
      style={{ "--share": `${now}%` } as React.CSSProperties}
    >
      <div className={css["part"]}>{first}</div>
      {second && (
        <>
          {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- a movable divider is a widget (ARIA window splitter) */}
          <div
            role="separator"
            aria-orientation="vertical"
            aria-label={label}
            aria-valuenow={now}
            aria-valuemin={minShare}
            aria-valuemax={maxShare}
            // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the arrow keys move it
            tabIndex={0}
            className={css["divider"]}
            onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
            onPointerMove={drag}
            onKeyDown={press}
            onDoubleClick={() => set(share)}
          />
          <div className={css["part"]}>{second}</div>
        </>
      )}
    </div>
  );
}
