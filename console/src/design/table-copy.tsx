import { Copy } from "lucide-react";
import type { RefObject } from "react";
import { t, tn } from "@/texts/texts";
import { Button } from "./button";
import { copyText } from "./clipboard";
import { Menu, MenuItem } from "./menu";
import { asCsv, asJson, asMarkdown, textOf, type TableText } from "./table-text";
import { useNotify } from "./toast";

/** The menu that copies the rows of a table. */
export function CopyTable({ label, table }: { readonly label: string; readonly table: RefObject<HTMLTableElement | null> }) {
  const notify = useNotify();
  const copy = (what: string, write: (text: TableText) => string) => () => {
    if (table.current === null) return;
    const text = textOf(table.current);
    void copyText(write(text)).then((done) =>
      done
        ? notify("good", tn(text.rows.length, "Copied {n} row as {what}", "Copied {n} rows as {what}", { what }))
        : notify("danger", t("The browser blocked copying")),
    );
  };
  return (
    <Menu
      trigger={
        <Button small kind="quiet" aria-label={t("Copy as: {label}", { label })}>
          <Copy size={13} aria-hidden />
          {t("Copy as")}
        </Button>
      }
    >
      <MenuItem onSelect={copy("CSV", asCsv)}>{t("CSV")}</MenuItem>
      <MenuItem onSelect={copy(t("Markdown"), asMarkdown)}>{t("Markdown")}</MenuItem>
      <MenuItem onSelect={copy("JSON", asJson)}>{t("JSON")}</MenuItem>
    </Menu>
  );
}
