import { useEffect, useRef, useState, type ReactNode } from "react";
import { pieces } from "./chart-lines";
import css from "./chart.module.css";

const height = 112;
const foot = 4;

export interface Line {
  readonly values: readonly (number | undefined)[];
  /** A class of the style sheet. */
  readonly look: "median" | "tail" | "failed";
}

/** A stacked series. */
export interface Stack {
  readonly values: readonly number[];
  readonly look: "succeeded" | "failed" | "aborted";
}

export interface ChartProps {
  readonly title: string;
  /** The accessible name. */
  readonly label: string;
  readonly count: number;
  /** The value at the top of the chart. */
  readonly max: number;
  readonly write: (value: number) => string;
  readonly lines?: readonly Line[];
  /** From the bottom up. */
  readonly stacks?: readonly Stack[];
  /** Moments to mark, as shares of the time from 0 to 1, with what happened then. */
  readonly marks?: readonly (readonly [at: number, words: string])[];
  readonly pointed: number | undefined;
  readonly onPoint: (at: number | undefined) => void;
  readonly legend: ReactNode;
}

/** A small chart over time with lines or stacked bars. */
export function Chart({ title, label, count, max, write, lines = [], stacks = [], marks = [], pointed, onPoint, legend }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(320);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(120, element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const step = width / Math.max(1, count);
  const x = (at: number) => (at + 0.5) * step;
  const y = (share: number) => foot + (1 - share) * (height - 2 * foot);
  return (
    <figure className={css["chart"]}>
      <figcaption>
        <strong>{title}</strong>
        <span className={css["legend"]}>{legend}</span>
      </figcaption>
      <div ref={frame} className={css["frame"]}>
        <svg
          role="img"
          aria-label={label}
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
          onPointerMove={(event) => {
            const at = Math.floor((event.clientX - event.currentTarget.getBoundingClientRect().left) / step);
            onPoint(at >= 0 && at < count ? at : undefined);
          }}
          onPointerLeave={() => onPoint(undefined)}
        >
          <line className={css["axis"]} x1={0} x2={width} y1={y(0)} y2={y(0)} />
          <line className={css["axis"]} x1={0} x2={width} y1={y(1)} y2={y(1)} />
          {marks.map(([at, words]) => (
            <line key={words} className={css["mark"]} x1={at * width} x2={at * width} y1={0} y2={height}>
              <title>{words}</title>
            </line>
          ))}
          {pointed !== undefined && <rect className={css["pointed"]} x={pointed * step} y={0} width={step} height={height} />}
          <Bars stacks={stacks} max={max} step={step} y={y} />
          {lines.map(({ values, look }) =>
            pieces(values, max).map((piece) =>
              piece.length === 1 ? (
                <circle
                  key={`${look}${piece[0]?.[0]}`}
                  className={`${css["dot"] ?? ""} ${css[look] ?? ""}`}
                  cx={x(piece[0]?.[0] ?? 0)}
                  cy={y(piece[0]?.[1] ?? 0)}
                  r={2.5}
                />
              ) : (
                <polyline
                  key={`${look}${piece[0]?.[0]}`}
                  className={`${css["line"] ?? ""} ${css[look] ?? ""}`}
                  points={piece.map(([at, share]) => `${x(at)},${y(share)}`).join(" ")}
                />
              ),
            ),
          )}
        </svg>
        <span className={css["max"]} aria-hidden>
          {write(max)}
        </span>
      </div>
    </figure>
  );
}

function Bars({
  stacks,
  max,
  step,
  y,
}: {
  readonly stacks: readonly Stack[];
  readonly max: number;
  readonly step: number;
  readonly y: (share: number) => number;
}) {
  const below: number[] = [];
  return stacks.map(({ values, look }) => (
    <g key={look} className={css[look]}>
      {values.map((value, at) => {
        const low = below[at] ?? 0;
        below[at] = low + value;
        if (value === 0) return null;
        const top = y((low + value) / max);
        return (
          <rect
            key={at}
            x={at * step + Math.min(1, step / 8)}
            y={top}
            width={Math.max(1, step - Math.min(2, step / 4))}
            height={Math.max(1, y(low / max) - top)}
          />
        );
      })}
    </g>
  ));
}

/** Charts side by side, as many as there is room for. */
export function Charts({ children }: { readonly children: ReactNode }) {
  return <div className={css["charts"]}>{children}</div>;
}

/** The sign of a series in the legend of its chart. */
export function Sign({ look }: { readonly look: Line["look"] | Stack["look"] }) {
  return <i className={css[look]} />;
}
