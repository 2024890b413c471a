import type { ReactNode } from "react";
import { Button } from "./button";
import type { Denial } from "./denial";
import { DenialNotice, Loading, ProblemNotice } from "./notice";
import { Table, type TableProps } from "./table";

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

export interface ListProps<Row> extends TableProps<Row> {
  /** What is listed, in the plural and in lower case. */
  readonly what: string;
  readonly answer: Answer;
  /** Shown if there are no rows. */
  readonly empty?: ReactNode;
  /** Why the reader may not see the list, and whom to ask. Shown instead of the list. */
  readonly denied?: Denial | undefined;
  /** The label of the button that loads the next page. */
  readonly more?: string;
}

/** A table of what a query returns, with its loading, error and empty states, and a button for the next page. */
export function List<Row>({ what, answer, empty, denied, more = `More ${what}`, ...table }: ListProps<Row>) {
  if (denied !== undefined) {
    return <DenialNotice title={`You may not see the ${what} here`} denial={denied} />;
  }
  return (
    <>
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what={what} />}
      {answer.isSuccess && table.rows.length === 0 && !answer.hasNextPage && empty}
      {table.rows.length > 0 && <Table {...table} />}
      <More answer={answer} label={more} />
    </>
  );
}

/** The button that loads the next page, if there is one. */
export function More({ answer, label }: { readonly answer: Answer; readonly label: string }) {
  if (!answer.hasNextPage) return null;
  return (
    <div>
      <Button disabled={answer.isFetchingNextPage} onClick={() => void answer.fetchNextPage?.()}>
        {answer.isFetchingNextPage ? "Loading …" : label}
      </Button>
    </div>
  );
}
