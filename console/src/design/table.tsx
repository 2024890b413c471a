import { ArrowDown, ArrowUp } from "lucide-react";
import { useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { inSentence, t } from "@/texts/texts";
import { Select } from "./field";
import { CopyTable } from "./table-copy";
import { move } from "./table-move";
import { sorted, turned, type Sort, type Sortable } from "./table-sort";
import css from "./table.module.css";

/** A column of a table. The cells of the first column are the headers of their rows. */
export interface Column<Row> {
  /** The header. On narrow screens, where a row is a card, each cell shows it. */
  readonly label: string;
  /** Shows the header only to screen readers: for columns of buttons, which copies leave out. */
  readonly hideLabel?: boolean;
  readonly cell: (row: Row) => ReactNode;
  /** Aligns the column to the right. */
  readonly number?: boolean;
  /** Breaks its text anywhere, also where it is one long word. */
  readonly wrap?: boolean;
  /** Says what the column means, on hovering its header. */
  readonly hint?: string;
  /** What the table sorts rows by; rows without a value come last. Only for lists that are whole. */
  readonly sortBy?: (row: Row) => Sortable;
  /** The key by which the owner of the list sorts, who gets it through onSort. */
  readonly order?: string;
  /** The first press sorts in descending order. */
  readonly descending?: boolean;
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
  /** How rows are sorted at first, by the table itself or, with onSort, by the owner of the list. */
  readonly sort?: Sort | undefined;
  readonly onSort?: (sort: Sort) => void;
  /** Offers to copy the rows as CSV, Markdown or JSON. */
  readonly copy?: boolean;
}

/** A table that sorts, moves between its rows with the arrow keys, and copies them. With a query behind it, use DataTable. */
export function Table<Row>({ label, columns, rows, keyOf, attributesOf, scroll, sort, onSort, copy = false }: TableProps<Row>) {
  const shown = columns.filter((column) => column !== false);
  const [own, setOwn] = useState(sort);
  const table = useRef<HTMLTableElement>(null);
  const current = onSort ? sort : own;
  const change = onSort ?? setOwn;
  const by = onSort ? undefined : shown.find((column) => keyOfColumn(column) === current?.by)?.sortBy;
  const all = by && current ? sorted(rows, by, current.descending) : rows;
  const canSort = (column: Column<Row>) => (onSort ? column.order !== undefined : column.sortBy !== undefined);
  const arrows = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && event.target instanceof Element && !event.target.matches("input, select, textarea") && move(table.current, step)) event.preventDefault();
  };
  const drawn = (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions, no-restricted-syntax -- the arrow keys go from link to link
    <table ref={table} className={scroll ? css["dense"] : css["table"]} aria-label={scroll ? undefined : label} onKeyDown={arrows}>
      <thead>
        <tr>
          {shown.map((column) => (
            <Head
              key={column.label}
              column={column}
              sort={keyOfColumn(column) === current?.by ? current : undefined}
              {...(canSort(column) && { onSort: () => change(turned(current, keyOfColumn(column), column.descending ?? false)) })}
            />
          ))}
        </tr>
      </thead>
      <tbody>
        {all.map((row) => (
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
  const sortable = shown.filter(canSort);
  return (
    <>
      {(copy || sortable.length > 0) && (
        <div className={css["tools"]}>
          {sortable.length > 0 && <NarrowSort columns={sortable} sort={current} onSort={change} />}
          {copy && <CopyTable label={label} table={table} />}
        </div>
      )}
      {scroll ? (
        <div className={css["scroll"]} role={scroll} aria-label={label} tabIndex={0}>
          {drawn}
        </div>
      ) : (
        drawn
      )}
    </>
  );
}

interface HeadProps<Row> {
  readonly column: Column<Row>;
  readonly sort: Sort | undefined;
  readonly onSort?: () => void;
}

function Head<Row>({ column, sort, onSort }: HeadProps<Row>) {
  const Arrow = sort?.descending ? ArrowDown : ArrowUp;
  return (
    <th scope="col" className={classOf(column)} title={column.hint} aria-sort={sort && (sort.descending ? "descending" : "ascending")}>
      {column.hideLabel ? (
        <span className="visually-hidden">{column.label}</span>
      ) : onSort ? (
        <button type="button" className={css["sort"]} onClick={onSort}>
          {column.label}
          {sort && <Arrow size={12} aria-hidden />}
        </button>
      ) : (
        column.label
      )}
    </th>
  );
}

/** The choice of the order where rows are cards, which have no headers. */
function NarrowSort<Row>({
  columns,
  sort,
  onSort,
}: {
  readonly columns: readonly Column<Row>[];
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort) => void;
}) {
  return (
    <Select
      aria-label={t("Sort by")}
      className={css["narrow-sort"]}
      value={sort?.by ?? ""}
      onChange={({ target: { value } }) => onSort({ by: value, descending: columns.find((column) => keyOfColumn(column) === value)?.descending ?? false })}
    >
      {!columns.some((column) => keyOfColumn(column) === sort?.by) && <option value={sort?.by ?? ""}>{t("Sort by …")}</option>}
      {columns.map((column) => (
        <option key={column.label} value={keyOfColumn(column)}>
          {t("Sort by {label}", { label: inSentence(column.label) })}
        </option>
      ))}
    </Select>
  );
}

const keyOfColumn = <Row,>({ order, label }: Column<Row>): string => order ?? label;

const classOf = ({ number, wrap, hideLabel }: Column<never>): string | undefined =>
  number ? css["number"] : wrap ? css["wrap"] : hideLabel ? css["buttons"] : undefined;

/** A line of small text below the main text of a cell. */
export function Note({ children }: { readonly children: ReactNode }) {
  return <span className={css["note"]}>{children}</span>;
}
