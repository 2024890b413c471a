import type { ReactNode } from "react";
import css from "./table.module.css";

/** A column of a table. The cells of the first column are the headers of their rows. */
export interface Column<Row> {
  /** The header. On narrow screens, where a row is a card, each cell shows it. */
  readonly label: string;
  /** Shows the header only to screen readers: for columns of buttons. */
  readonly hideLabel?: boolean;
  readonly cell: (row: Row) => ReactNode;
  /** Aligns the column to the right. */
  readonly number?: boolean;
  /** Breaks its text anywhere, also where it is one long word. */
  readonly wrap?: boolean;
}

/** Attributes of a row: for tests, and aria-current for the chosen row. */
type RowAttributes = Readonly<Record<`data-${string}`, string | true | undefined>> & { readonly "aria-current"?: boolean };

export interface TableProps<Row> {
  /** The accessible name. */
  readonly label: string;
  /** The columns; false leaves one out. */
  readonly columns: readonly (Column<Row> | false)[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly attributesOf?: (row: Row) => RowAttributes;
  /** Makes a dense table that scrolls sideways, in an element of this role. Without it, rows become cards on narrow screens. */
  readonly scroll?: "group" | "region";
}

export function Table<Row>({ label, columns, rows, keyOf, attributesOf, scroll }: TableProps<Row>) {
  const shown = columns.filter((column) => column !== false);
  const table = (
    <table className={scroll ? css["dense"] : css["table"]} aria-label={scroll ? undefined : label}>
      <thead>
        <tr>
          {shown.map((column) => (
            <th key={column.label} scope="col" className={classOf(column)}>
              {column.hideLabel ? <span className="visually-hidden">{column.label}</span> : column.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)} {...attributesOf?.(row)}>
            {shown.map((column, at) =>
              at === 0 ? (
                <th key={column.label} scope="row" className={classOf(column)}>
                  {column.cell(row)}
                </th>
              ) : (
                <td key={column.label} className={classOf(column)} data-label={column.hideLabel ? undefined : column.label}>
                  {column.cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
  if (!scroll) return table;
  return (
    <div className={css["scroll"]} role={scroll} aria-label={label} tabIndex={0}>
      {table}
    </div>
  );
}

const classOf = ({ number, wrap }: Column<never>): string | undefined => (number ? css["number"] : wrap ? css["wrap"] : undefined);

/** A line of small text below the main text of a cell. */
export function Note({ children }: { readonly children: ReactNode }) {
  return <span className={css["note"]}>{children}</span>;
}
