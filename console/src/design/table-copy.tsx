import { Copy } from "lucide-react";
import type { RefObject } from "react";
import { Button } from "./button";
import { Menu, MenuItem } from "./menu";
import { asCsv, asJson, asMarkdown, textOf, type TableText } from "./table-text";
import { useNotify } from "./toast";

/** The menu that copies the rows of a table. */
export function CopyTable({ label, table }: { readonly label: string; readonly table: RefObject<HTMLTableElement | null> }) {
  const notify = useNotify();
  const copy = (what: string, write: (text: TableText) => string) => () => {
    if (table.current === null) return;
    const text = textOf(table.current);
    void navigator.clipboard.writeText(write(text)).then(
      () => notify("good", `Copied ${String(text.rows.length)} ${text.rows.length === 1 ? "row" : "rows"} as ${what}`),
      () => notify("danger", "The browser did not allow the copy"),
    );
  };
  return (
    <Menu
      trigger={
        <Button small kind="quiet" aria-label={`Copy as: ${label}`}>
          <Copy size={13} aria-hidden />
          Copy as
        </Button>
      }
    >
      <MenuItem onSelect={copy("CSV", asCsv)}>CSV</MenuItem>
      <MenuItem onSelect={copy("Markdown", asMarkdown)}>Markdown</MenuItem>
      <MenuItem onSelect={copy("JSON", asJson)}>JSON</MenuItem>
    </Menu>
  );
}
