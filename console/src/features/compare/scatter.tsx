import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Place } from "@/app/place";
import { Select } from "@/design/field";
import { Table } from "@/design/table";
import { t, tn } from "@/texts/texts";
import { axesOf, pointsOf, ticksOf, type Measured, type Point } from "./points";
import css from "./scatter.module.css";

interface ScatterProps {
  readonly place: Place;
  readonly runs: readonly Measured[];
}

/** Two numbers of the runs against each other: as a plot, and as a table of the same. */
export function Scatter({ place, runs }: ScatterProps) {
  const axes = axesOf(runs);
  const [chosen, choose] = useState<{ readonly x?: string; readonly y?: string }>({});
  const x = chosen.x !== undefined && axes.includes(chosen.x) ? chosen.x : (axes[0] ?? "");
  const y = chosen.y !== undefined && axes.includes(chosen.y) ? chosen.y : (axes.at(-1) ?? "");
  if (axes.length < 2) return <p className={css["muted"]}>{t("A plot needs two inputs or outputs that are numbers in at least two of the runs.")}</p>;
  const points = pointsOf(runs, x, y);
  return (
    <>
      <div className={css["choice"]}>
        <label>
          {t("Across")} <Axis label={t("Across")} axes={axes} value={x} onChange={(next) => choose({ ...chosen, x: next })} />
        </label>
        <label>
          {t("Up")} <Axis label={t("Up")} axes={axes} value={y} onChange={(next) => choose({ ...chosen, y: next })} />
        </label>
        {points.length < runs.length && <span className={css["muted"]}>{tn(runs.length - points.length, "{n} run has no such numbers.", "{n} runs have no such numbers.")}</span>}
      </div>
      <div className={css["both"]}>
        {points.length > 0 && <Plot place={place} points={points} x={x} y={y} />}
        <div>
          <Table
            copy
            label={t("{y} against {x}", { y, x })}
            rows={points}
            keyOf={({ key }) => key}
            columns={[
              { label: t("Run"), sortBy: ({ name }: Point) => name, cell: ({ name }: Point) => <Link to="/domain/$domain/project/$project/runs/$run" params={{ ...place, run: name }}>{name}</Link>, wrap: true },
              { label: x, number: true, sortBy: (point: Point) => point.x, cell: (point: Point) => String(point.x) },
              ...(x === y ? [] : [{ label: y, number: true, sortBy: (point: Point) => point.y, cell: (point: Point) => String(point.y) }]),
            ]}
          />
        </div>
      </div>
    </>
  );
}

interface AxisProps {
  readonly label: string;
  readonly axes: readonly string[];
  readonly value: string;
  readonly onChange: (next: string) => void;
}

function Axis({ label, axes, value, onChange }: AxisProps) {
  return (
    <Select aria-label={label} value={value} onChange={({ target }) => onChange(target.value)}>
      {axes.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </Select>
  );
}

const size = { width: 480, height: 300, left: 56, right: 12, top: 12, bottom: 40 };

function Plot({ place, points, x, y }: { readonly place: Place; readonly points: readonly Point[]; readonly x: string; readonly y: string }) {
  const across = ticksOf(points.map((point) => point.x));
  const up = ticksOf(points.map((point) => point.y));
  const scale = (ticks: readonly number[], from: number, to: number) => {
    const [low, high] = [ticks[0] ?? 0, ticks.at(-1) ?? 1];
    return (value: number) => from + ((value - low) / (high - low)) * (to - from);
  };
  const placeX = scale(across, size.left, size.width - size.right);
  const placeY = scale(up, size.height - size.bottom, size.top);
  return (
    <figure className={css["plot"]}>
      <svg viewBox={`0 0 ${size.width} ${size.height}`} role="group" aria-label={tn(points.length, "{n} run: {y} against {x}. The table has the numbers.", "{n} runs: {y} against {x}. The table has the numbers.", { y, x })}>
        {up.map((tick) => (
          <g key={tick} aria-hidden>
            <line x1={size.left} x2={size.width - size.right} y1={placeY(tick)} y2={placeY(tick)} className={css["grid"]} />
            <text x={size.left - 6} y={placeY(tick) + 4} textAnchor="end">
              {tick}
            </text>
          </g>
        ))}
        {across.map((tick) => (
          <text key={tick} x={placeX(tick)} y={size.height - size.bottom + 16} textAnchor="middle" aria-hidden>
            {tick}
          </text>
        ))}
        <text x={size.width - size.right} y={size.height - 6} textAnchor="end" className={css["axis"]} aria-hidden>
          {x}
        </text>
        {points.map((point) => (
          <Link key={point.key} to="/domain/$domain/project/$project/runs/$run" params={{ ...place, run: point.name }} aria-label={`${point.name}: ${x} ${point.x}, ${y} ${point.y}`}>
            <circle cx={placeX(point.x)} cy={placeY(point.y)} r={5} className={css["point"]}>
              <title>{`${point.name}\n${x} ${point.x}\n${y} ${point.y}`}</title>
            </circle>
            <circle cx={placeX(point.x)} cy={placeY(point.y)} r={12} className={css["target"]} aria-hidden />
          </Link>
        ))}
      </svg>
      <figcaption>{y}</figcaption>
    </figure>
  );
}
