import { t } from "@/texts/texts";
import { NoPreviewError } from "./source";

/** A notebook to read. */
export interface Notebook {
  readonly language: string;
  readonly cells: readonly NotebookCell[];
  /** How many cells there are in all. */
  readonly total: number;
}

export interface NotebookCell {
  readonly kind: "markdown" | "code" | "raw";
  readonly source: string;
  /** The number in front of the code; undefined if it did not run. */
  readonly run: number | undefined;
  readonly outputs: readonly NotebookOutput[];
}

export type NotebookOutput =
  | { readonly show: "text"; readonly text: string; readonly wrong: boolean }
  | { readonly show: "image"; readonly url: string }
  | { readonly show: "html"; readonly html: string }
  | { readonly show: "nothing"; readonly types: string };

const mostCells = 300;
const mostOutputs = 50;
/** In characters. */
const longest = 50_000;

// Escape sequences of terminals, which tracebacks have.
// eslint-disable-next-line no-control-regex -- escape is a control character
const escapes = /\x1b\[[0-9;]*[A-Za-z]/g;

/** Reads the JSON of a notebook. Everything in it may be of any type. */
export function notebookOf(json: string): Notebook {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch {
    throw new NoPreviewError(t("The notebook is damaged: it is not JSON."));
  }
  const notebook = record(parsed);
  const cells = array(notebook["cells"]);
  if (!Array.isArray(notebook["cells"])) throw new NoPreviewError(t("The notebook has no cells. It may be in a format before version 4."));
  const metadata = record(notebook["metadata"]);
  const language = text(record(metadata["language_info"])["name"]) || text(record(metadata["kernelspec"])["language"]);
  return { language, total: cells.length, cells: cells.slice(0, mostCells).map(cellOf) };
}

const record = (value: unknown): Readonly<Record<string, unknown>> => (typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {});
const array = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** A text, which notebooks may split into lines. */
const text = (value: unknown): string =>
  typeof value === "string" ? value : array(value).filter((line) => typeof line === "string").join("");

const short = (long: string): string => (long.length > longest ? `${long.slice(0, longest)}\n…` : long);

function cellOf(value: unknown): NotebookCell {
  const cell = record(value);
  const kind = cell["cell_type"] === "code" || cell["cell_type"] === "markdown" ? cell["cell_type"] : "raw";
  const run = cell["execution_count"];
  return {
    kind,
    source: short(text(cell["source"])),
    run: typeof run === "number" ? run : undefined,
    outputs: kind === "code" ? array(cell["outputs"]).slice(0, mostOutputs).map(outputOf) : [],
  };
}

function outputOf(value: unknown): NotebookOutput {
  const output = record(value);
  if (output["output_type"] === "stream") return { show: "text", text: plain(text(output["text"])), wrong: output["name"] === "stderr" };
  if (output["output_type"] === "error") {
    const traceback = array(output["traceback"]).filter((line) => typeof line === "string");
    return { show: "text", text: plain(traceback.join("\n") || `${text(output["ename"])}: ${text(output["evalue"])}`), wrong: true };
  }
  const data = record(output["data"]);
  for (const type of ["image/png", "image/jpeg", "image/gif"]) {
    const encoded = text(data[type]).replace(/\s/g, "");
    if (/^[A-Za-z0-9+/]+=*$/.test(encoded)) return { show: "image", url: `data:${type};base64,${encoded}` };
  }
  const svg = text(data["image/svg+xml"]);
  if (svg) return { show: "image", url: `data:image/svg+xml,${encodeURIComponent(svg)}` };
  const html = text(data["text/html"]);
  if (html) return { show: "html", html };
  const words = text(data["text/plain"]) || text(data["text/markdown"]);
  return words ? { show: "text", text: plain(words), wrong: false } : { show: "nothing", types: Object.keys(data).join(", ") };
}

const plain = (long: string): string => short(long.replace(escapes, ""));
