import { t } from "@/texts/texts";

/** How a file is shown. */
export type Kind =
  | { readonly show: "parquet" | "notebook" | "html" | "json" | "markdown" | "text" | "npy" | "npz" }
  | { readonly show: "csv"; readonly delimiter: "," | "\t" }
  | { readonly show: "image" | "audio" | "video"; readonly type: string }
  /** It cannot be shown. */
  | { readonly show: "nothing"; readonly what: string };

/** How much of a file tells its kind, in bytes. */
export const headLength = 4096;

// Signatures of files have control characters.
/* eslint-disable no-control-regex -- see above */
const signatures: readonly (readonly [pattern: RegExp, kind: Kind])[] = [
  [/^PAR1/, { show: "parquet" }],
  [/^\x93NUMPY/, { show: "npy" }],
  [/^\x89PNG\r\n\x1a\n/, { show: "image", type: "image/png" }],
  [/^\xff\xd8\xff/, { show: "image", type: "image/jpeg" }],
  [/^GIF8[79]a/, { show: "image", type: "image/gif" }],
  [/^RIFF[^]{4}WEBP/, { show: "image", type: "image/webp" }],
  [/^[^]{4}ftypavi[fs]/, { show: "image", type: "image/avif" }],
  [/^RIFF[^]{4}WAVE/, { show: "audio", type: "audio/wav" }],
  [/^(?:ID3|\xff[\xfb\xf3\xf2])/, { show: "audio", type: "audio/mpeg" }],
  [/^fLaC/, { show: "audio", type: "audio/flac" }],
  [/^OggS[^]{24,64}(?:theora|video)/, { show: "video", type: "video/ogg" }],
  [/^OggS/, { show: "audio", type: "audio/ogg" }],
  [/^[^]{4}ftypM4A /, { show: "audio", type: "audio/mp4" }],
  [/^[^]{4}ftyp/, { show: "video", type: "video/mp4" }],
  [/^\x1a\x45\xdf\xa3/, { show: "video", type: "video/webm" }],
  [/^PK(?:\x03\x04|\x05\x06)/, { show: "nothing", what: t("A ZIP archive") }],
  [/^\x1f\x8b/, { show: "nothing", what: t("A file compressed with gzip") }],
  [/^\x28\xb5\x2f\xfd/, { show: "nothing", what: t("A file compressed with Zstandard") }],
  [/^%PDF-/, { show: "nothing", what: t("A PDF document") }],
  [/^ARROW1/, { show: "nothing", what: t("An Arrow file") }],
  [/^ORC/, { show: "nothing", what: t("An ORC file") }],
  [/^\x80[\x02-\x05]/, { show: "nothing", what: t("A pickled Python object") }],
];
/* eslint-enable no-control-regex -- see above */

const texts: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ["csv", { show: "csv", delimiter: "," }],
  ["tsv", { show: "csv", delimiter: "\t" }],
  ["json", { show: "json" }],
  ["geojson", { show: "json" }],
  ["md", { show: "markdown" }],
  ["markdown", { show: "markdown" }],
  ["ipynb", { show: "notebook" }],
  ["html", { show: "html" }],
  ["htm", { show: "html" }],
  ["svg", { show: "image", type: "image/svg+xml" }],
]);

const extension = (name: string): string => /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? "";

/**
 * The kind of a file. Its content decides, and among texts and archives its name, or the format that its value declares. The media type is always one
 * of this list, so that a file cannot make a browser treat it as something else.
 */
export function kindOf(name: string, format: string, head: Uint8Array): Kind {
  const start = Array.from(head.subarray(0, 100), (byte) => String.fromCharCode(byte)).join("");
  if (start.startsWith("PK\x03\x04") && extension(name) === "npz") return { show: "npz" };
  for (const [pattern, kind] of signatures) if (pattern.test(start)) return kind;
  if (!isText(head)) return { show: "nothing", what: t("A binary file of an unknown type") };
  return texts.get(extension(name)) ?? texts.get(format.toLowerCase().split("/").at(-1) ?? "") ?? { show: "text" };
}

/** Whether this is the start of a text in UTF-8. */
function isText(head: Uint8Array): boolean {
  if (head.some((byte) => byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0c && byte !== 0x0d && byte !== 0x1b)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true }); // the last character may be cut
    return true;
  } catch {
    return false;
  }
}
