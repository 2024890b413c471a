import type { ReactNode } from "react";
import css from "./attention.module.css";

/** How often each group is read, in milliseconds. */
export const every = 20_000;
/** How many rows a group shows. */
export const shown = 5;

export interface GroupProps<Row> {
  readonly title: string;
  /** Leads to all of them, and other controls. */
  readonly links?: ReactNode;
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly children: (row: Row) => ReactNode;
}

/** One kind of what needs a person, with its first rows. Nothing is shown if there are none. */
export function Group<Row>({ title, links, rows, keyOf, children }: GroupProps<Row>) {
  if (rows.length === 0) return null;
  return (
    <section className={css["group"]} aria-label={title}>
      <div className={css["head"]}>
        <h3>
          {title} <span className={css["count"]}>{rows.length > shown ? `${shown}+` : rows.length}</span>
        </h3>
        {links}
      </div>
      <ul>
        {rows.slice(0, shown).map((row) => (
          <li key={keyOf(row)}>{children(row)}</li>
        ))}
      </ul>
    </section>
  );
}
