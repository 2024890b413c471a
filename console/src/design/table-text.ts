import css from "./table.module.css";

/** What a table shows, as text. */
export interface TableText {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Reads what a table shows, without its columns of buttons. Times are exact. */
export function textOf(table: HTMLTableElement): TableText {
  const heads = [...table.querySelectorAll("thead > tr > *")];
  const kept = heads.flatMap((cell, at) => (cell.querySelector(".visually-hidden") ? [] : [at]));
  return {
    head: kept.map((at) => heads[at]?.textContent.trim() ?? ""),
    rows: [...table.querySelectorAll("tbody > tr")].map((row) => kept.map((at) => cellText(row.children[at]))),
  };
}

/** The text of a cell. A cell that draws says in data-text what it shows. */
function cellText(cell: Element | undefined): string {
  if (cell === undefined) return "";
  const copy = cell.cloneNode(true) as Element;
  for (const drawn of copy.querySelectorAll<HTMLElement>("[data-text]")) drawn.replaceWith(drawn.dataset["text"] ?? "");
  for (const time of copy.querySelectorAll("time[datetime]")) time.replaceWith(time.getAttribute("datetime") ?? "");
  for (const note of copy.querySelectorAll(`.${css["note"] ?? "note"}`)) note.prepend(" ");
  for (const button of copy.querySelectorAll("button, svg")) if (!button.matches("button") || button.textContent.trim() === "") button.remove();
  return copy.textContent.replace(/\s+/g, " ").trim();
}

const quoted = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const piped = (text: string): string => text.replaceAll("|", "\\|");

/** Spreadsheets take a cell that begins so for a formula. */
const defused = (text: string): string => (/^[=+@]/.test(text) || /^-(?![\d.])/.test(text) ? `'${text}` : text);

export const asCsv = ({ head, rows }: TableText): string => [head, ...rows].map((row) => row.map((text) => quoted(defused(text))).join(",")).join("\n") + "\n";

export const asMarkdown = ({ head, rows }: TableText): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.map(piped).join(" | ")} |`).join("\n") + "\n";

export const asJson = ({ head, rows }: TableText): string =>
  `${JSON.stringify(
    rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at] ?? ""]))),
    undefined,
    2,
  )}\n`;
