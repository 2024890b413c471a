import { useRef, type ReactNode, type RefObject } from "react";
import { useShortcut } from "@/app/shortcuts";
import { t } from "@/texts/texts";
import { Button } from "./button";
import type { Denial } from "./denial";
import { DenialNotice, Loading, ProblemNotice } from "./notice";
import { Table, type Column, type TableProps } from "./table";
import { move } from "./table-move";
import css from "./table.module.css";

// How to use it. Rows come from a query, mostly one of usePages; a table without a query is Table of ./table, a page that is
// one list is ListPage of ./list-page. All have the same columns and rows:
//
//   const { answer, rows } = usePages(["pools", …], load, (page) => page.pools);
//   <DataTable what="pools" label="Pools" answer={answer} rows={rows} keyOf={({ name }) => name}
//     empty={<Empty title="No pools yet" />}
//     columns={[
//       { label: "Pool", cell: ({ name }) => <Link …>{name}</Link>, sortBy: ({ name }) => name },
//       { label: "Workers", number: true, cell: ({ workers }) => count(workers), sortBy: ({ workers }) => workers, descending: true },
//     ]} />
//
// - sortBy lets the table sort by a column, once the list is whole. A list of many pages is sorted by the server: give such
//   columns an order instead, and the table sort and onSort; keep the order in the URL.
// - "Copy as" takes what the cells show. A cell that draws says in data-text what it shows; columns of buttons have hideLabel.
// - The arrow keys go from row to row, to the first link of each. On a ListPage, j and k do so too.

/** The state of a query for a list, of which further pages may exist. */
export interface Answer {
  readonly error: Error | null;
  readonly isLoading: boolean;
  readonly isSuccess: boolean;
  readonly refetch: () => unknown;
  readonly hasNextPage?: boolean;
  readonly isFetchingNextPage?: boolean;
  readonly fetchNextPage?: () => unknown;
}

export interface DataTableProps<Row> extends TableProps<Row> {
  /** What is listed, in the plural and in lower case. */
  readonly what: string;
  readonly answer: Answer;
  /** Shown if there are no rows. */
  readonly empty?: ReactNode;
  /** Why the reader may not see the list, and whom to ask. Shown instead of the list. */
  readonly denied?: Denial | undefined;
  /** The label of the button that loads the next page. */
  readonly more?: string;
  /** Lets j and k go from row to row: for the main table of a page. */
  readonly keys?: boolean;
}

/** A table of what a query returns: sorting, copies, keys, with its loading, error and empty states, and a button for the next page. */
export function DataTable<Row>({ what, answer, empty, denied, more = t("More {what}", { what }), keys = false, columns, copy = true, ...table }: DataTableProps<Row>) {
  const root = useRef<HTMLDivElement>(null);
  if (denied !== undefined) {
    return <DenialNotice title={t("You may not see the {what} here", { what })} denial={denied} />;
  }
  // What is not loaded yet would be missing in the order.
  const whole = columns.map((column) => (column === false || !answer.hasNextPage ? column : withoutSort(column)));
  return (
    <>
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what={what} />}
      {answer.isSuccess && table.rows.length === 0 && !answer.hasNextPage && empty}
      {table.rows.length > 0 && (
        <div ref={root} className={css["data"]}>
          {keys && <Keys root={root} what={what} />}
          <Table {...table} columns={whole} copy={copy} />
        </div>
      )}
      <More answer={answer} label={more} />
    </>
  );
}

function withoutSort<Row>(column: Column<Row>): Column<Row> {
  return Object.fromEntries(Object.entries(column).filter(([key]) => key !== "sortBy")) as unknown as Column<Row>;
}

function Keys({ root, what }: { readonly root: RefObject<HTMLDivElement | null>; readonly what: string }) {
  const go = (step: number) => () => void move(root.current?.querySelector("table") ?? null, step);
  useShortcut("j", go(1), t("Next of the {what} (Enter opens it)", { what }));
  useShortcut("k", go(-1), t("Previous of the {what}", { what }));
  return null;
}

/** The button that loads the next page, if there is one. */
export function More({ answer, label }: { readonly answer: Answer; readonly label: string }) {
  if (!answer.hasNextPage) return null;
  return (
    <div>
      <Button disabled={answer.isFetchingNextPage} onClick={() => void answer.fetchNextPage?.()}>
        {answer.isFetchingNextPage ? t("Loading …") : label}
      </Button>
    </div>
  );
}
