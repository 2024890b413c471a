/** The order of a table: the key of a column, which is its label unless it has another. */
export interface Sort {
  readonly by: string;
  readonly descending: boolean;
}

/** What rows are sorted by. */
export type Sortable = string | number | bigint | undefined;

const words = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

const compare = (a: string | number | bigint, b: string | number | bigint): number =>
  typeof a === "string" || typeof b === "string" ? words.compare(String(a), String(b)) : a < b ? -1 : a > b ? 1 : 0;

/** The rows in an order; those without a value last in both directions, equal ones as they were. */
export function sorted<Row>(rows: readonly Row[], by: (row: Row) => Sortable, descending: boolean): Row[] {
  return rows
    .map((row) => ({ row, value: by(row) }))
    .sort(({ value: a }, { value: b }) => {
      if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
      return descending ? compare(b, a) : compare(a, b);
    })
    .map(({ row }) => row);
}

/** The order after a press on a column: another column, or the other direction. */
export const turned = (sort: Sort | undefined, by: string, descending: boolean): Sort => ({ by, descending: sort?.by === by ? !sort.descending : descending });
