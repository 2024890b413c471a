import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/design/button";
import { count } from "@/design/format";
import { Loading } from "@/design/notice";
import { Table } from "@/design/table";
import { t, tn } from "@/texts/texts";
import { PreviewProblem } from "./preview-problem";
import type { ColumnFacts, Page, TableData } from "./table-data";
import css from "./data-view.module.css";

/** How many columns are shown at once. */
const pageWidth = 30;
/** How many facts of columns are shown at once. */
const factsAtOnce = 200;

/** A table: its first rows, or what is known of its columns. */
export function TableView({ table, queryKey }: { readonly table: TableData; readonly queryKey: readonly unknown[] }) {
  const [facts, setFacts] = useState(false);
  const rows = table.rows === undefined ? "" : `${tn(table.rows, "{n} row", "{n} rows")}, `;
  return (
    <div className={css["table"]} data-testid="table-preview">
      <div className={css["bar"]}>
        <span className={css["summary"]}>
          {rows}
          {tn(table.columns.length, "{n} column", "{n} columns")} <span className={css["muted"]}>· {table.about.join(" · ")}</span>
        </span>
        <Button small aria-pressed={!facts} onClick={() => setFacts(false)}>
          {t("Rows")}
        </Button>
        <Button small aria-pressed={facts} onClick={() => setFacts(true)}>
          {t("Columns")}
        </Button>
      </div>
      {facts ? <Facts table={table} /> : <Rows table={table} queryKey={queryKey} />}
    </div>
  );
}

function Rows({ table, queryKey }: { readonly table: TableData; readonly queryKey: readonly unknown[] }) {
  const [from, setFrom] = useState(0);
  const to = Math.min(from + pageWidth, table.columns.length);
  const { data, error, isPending } = useQuery({ queryKey: [...queryKey, "columns", from], queryFn: () => table.page(from, to), retry: false, staleTime: Infinity });
  return (
    <>
      {table.columns.length > pageWidth && (
        <div className={css["bar"]}>
          <span className={css["muted"]}>
            {t("Columns {from} to {to} of {columns}", { from: count(from + 1), to: count(to), columns: count(table.columns.length) })}
          </span>
          <Button small disabled={from === 0} onClick={() => setFrom(from - pageWidth)}>
            {t("Previous columns")}
          </Button>
          <Button small disabled={to === table.columns.length} onClick={() => setFrom(to)}>
            {t("Next columns")}
          </Button>
        </div>
      )}
      {error ? <PreviewProblem error={error} /> : isPending ? <Loading what={t("rows")} /> : <Grid page={data} />}
      {data && (table.rows === undefined || table.rows > data.rows) && (
        <p className={css["muted"]}>
          {tn(data.rows, "The first {n} row", "The first {n} rows")}
          {table.rows !== undefined && ` ${t("of {rows}", { rows: count(table.rows) })}`}.
        </p>
      )}
    </>
  );
}

function Grid({ page }: { readonly page: Page }) {
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable region must be reachable by keyboard
    <div className={css["grid"]} tabIndex={0} role="group" aria-label={t("Rows")}>
      {/* eslint-disable-next-line no-restricted-syntax -- the columns are those of the data: any number, with types and cells that span rows */}
      <table>
        <thead>
          <tr>
            <th scope="col" className={css["corner"]}>
              <span className="visually-hidden">{t("Row")}</span>
            </th>
            {page.columns.map(({ name, type }, at) => (
              <th key={at} scope="col">
                <span>{name}</span>
                <span className={css["type"]}>{type}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {page.rows === 0 && (
            <tr>
              <td colSpan={page.columns.length + 1}>{t("No rows.")}</td>
            </tr>
          )}
          {Array.from({ length: page.rows }, (_, row) => (
            <tr key={row}>
              <th scope="row">{row}</th>
              {page.cells.map((column, at) => {
                if (typeof column === "string") {
                  return row === 0 ? (
                    <td key={at} rowSpan={page.rows} className={css["unreadable"]}>
                      {column}
                    </td>
                  ) : null;
                }
                const cell = column[row];
                return (
                  <td key={at} className={cell?.none ? css["none"] : cell?.number ? css["number"] : undefined}>
                    {cell?.text}
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

const unknown = <span className={css["muted"]}>{t("not recorded")}</span>;

function Facts({ table }: { readonly table: TableData }) {
  const [limit, setLimit] = useState(factsAtOnce);
  return (
    <>
      {table.factsOf !== undefined && <p className={css["muted"]}>{tn(table.factsOf, "Nulls, min and max are those of the first {n} row.", "Nulls, min and max are those of the first {n} rows.")}</p>}
      <div className={css["facts"]}>
        <Table<ColumnFacts>
          label={t("Columns")}
          scroll="group"
          rows={table.columns.slice(0, limit)}
          keyOf={({ name }) => name}
          columns={[
            { label: t("Column"), cell: ({ name }) => name },
            { label: t("Type"), cell: ({ type }) => <code>{type}</code> },
            { label: t("Nulls"), number: true, cell: ({ nulls }) => (nulls === undefined ? unknown : count(nulls)) },
            { label: t("Min"), wrap: true, cell: ({ min }) => min ?? unknown },
            { label: t("Max"), wrap: true, cell: ({ max }) => max ?? unknown },
          ]}
        />
      </div>
      {table.columns.length > limit && (
        <Button small onClick={() => setLimit(limit + factsAtOnce * 5)}>
          {t("Show more ({columns} hidden)", { columns: count(table.columns.length - limit) })}
        </Button>
      )}
    </>
  );
}
