import { t } from "@/texts/texts";
import type { Row } from "./columns";
import { changeWords, markOf } from "./columns";
import css from "./compare.module.css";

export interface ColumnsProps {
  readonly label: string;
  readonly rows: readonly Row[];
  /** The number of runs. */
  readonly runs: number;
  /** What the first column has. */
  readonly what: string;
  /** Marks rows in which runs differ: where equal rows are shown as well. */
  readonly mark: boolean;
  /** The values are numbers, whose change against the first run is shown. */
  readonly numbers?: boolean;
}

/** Rows with a column for each run. Values that differ from those of the first run are marked. */
export function Columns({ label, rows, runs, what, mark, numbers = false }: ColumnsProps) {
  const marks = Array.from({ length: runs }, (_, at) => markOf(at));
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable region must be reachable by keyboard
    <div className={css["scroller"]} tabIndex={0} role="region" aria-label={t("{label} of the runs", { label })}>
      {/* eslint-disable-next-line no-restricted-syntax -- a matrix: its columns are runs, and single cells are marked */}
      <table className={css["facts"]} aria-label={label} style={{ minWidth: `${11 + runs * 11}rem` }}>
        <thead>
          <tr>
            <th scope="col">{what}</th>
            {marks.map((one) => (
              <th key={one} scope="col">
                {one}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name} data-fact={row.name} data-same={row.same}>
              <th scope="row">
                {row.name}
                {mark && !row.same && <span className={css["differs"]}> ≠</span>}
              </th>
              {marks.map((one, at) => {
                const value = row.values[at] ?? "";
                const change = numbers && at > 0 ? changeWords(row.values[0] ?? "", value) : "";
                return (
                  <td key={one} data-label={one} data-differs={value !== row.values[0] || undefined}>
                    {value || "–"}
                    {change && <span className={css["detail"]}>{change}</span>}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
