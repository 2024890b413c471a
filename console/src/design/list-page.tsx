import type { ReactNode } from "react";
import { t } from "@/texts/texts";
import { Input } from "./field";
import { DataTable, type DataTableProps } from "./data-table";
import css from "./page.module.css";

interface ListPageProps<Row> extends DataTableProps<Row> {
  readonly title: string;
  /** Filters and buttons next to the title. */
  readonly head?: ReactNode;
  readonly children?: ReactNode;
}

/** A page with one list. */
export function ListPage<Row>({ title, head, children, ...list }: ListPageProps<Row>) {
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1>{title}</h1>
        {head}
      </div>
      <DataTable keys {...list} />
      {children}
    </div>
  );
}

interface SearchBoxProps {
  /** What it finds, in the plural. */
  readonly what: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** The field that filters a list by name. The shortcut / focuses it. */
export function SearchBox({ what, value, onChange }: SearchBoxProps) {
  return (
    <Input
      type="search"
      data-filter
      className={css["search"]}
      aria-label={t("Find {what}", { what })}
      placeholder={t("Find {what} by name", { what })}
      autoComplete="off"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
