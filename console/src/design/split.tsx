import { useState, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import { read, write } from "@/app/storage";
import css from "./split.module.css";

const least = 20;
const most = 80;
const step = 4;

export interface SplitProps {
  /** What the browser remembers the share under. */
  readonly name: string;
  /** What the divider divides, for those who cannot see it. */
  readonly label: string;
  /** The first part's share until somebody moves the divider, in per cent. */
  readonly share: number;
  readonly first: ReactNode;
  /** Nothing leaves the room to the first. */
  readonly second: ReactNode;
  /** Whether the second was asked for: where there is no room for both, it covers the first. */
  readonly secondChosen: boolean;
}

const isShare = (value: unknown): value is number => typeof value === "number" && value >= least && value <= most;

/** Two parts side by side with a divider that can be moved; one above the other where there is no room. */
export function Split({ name, label, share, first, second, secondChosen }: SplitProps) {
  const [own, setOwn] = useState(() => read(`split:${name}`, isShare));
  const now = own ?? share;
  const set = (next: number) => {
    const kept = Math.round(Math.min(most, Math.max(least, next)));
    setOwn(kept);
    write(`split:${name}`, kept);
  };
  const drag = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.parentElement?.getBoundingClientRect();
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
    <div className={css["split"]} data-second={second ? (secondChosen ? "chosen" : "there") : undefined} style={{ "--share": `${now}%` } as React.CSSProperties}>
      <div className={css["part"]}>{first}</div>
      {second && (
        <>
          {/* A divider that can be moved is a widget: https://www.w3.org/WAI/ARIA/apg/patterns/windowsplitter/ */}
          {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
          <div
            role="separator"
            aria-orientation="vertical"
            aria-label={label}
            aria-valuenow={now}
            aria-valuemin={least}
            aria-valuemax={most}
            // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
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
