import { chunk } from "@/api/chunk";
import { bytes } from "@/design/format";
import type { Value } from "@/entities/value/value-type";
import { t } from "@/texts/texts";
import { pixelsOf } from "./image-size";
import { headLength, kindOf } from "./kind";
import type { Notebook } from "./notebook";
import type { ArrayData } from "./npy";
import type { ArraysData } from "./npz";
import { NoPreviewError, type FileSource } from "./source";
import type { TableData } from "./table-data";

/** A file that was opened to be shown. */
export type Opened =
  | { readonly show: "table"; readonly table: TableData }
  /** The part is how much of the file it is, in bytes; undefined for all of it. */
  | { readonly show: "text" | "markdown"; readonly text: string; readonly part: number | undefined }
  | { readonly show: "json"; readonly value: Value }
  | { readonly show: "html"; readonly html: string }
  | { readonly show: "array"; readonly array: ArrayData }
  | { readonly show: "arrays"; readonly arrays: ArraysData }
  | { readonly show: "notebook"; readonly notebook: Notebook }
  | { readonly show: "image" | "audio" | "video"; readonly data: Uint8Array<ArrayBuffer>; readonly type: string };

const mib = 1 << 20;
/** How much of a text is shown, in bytes. */
const shownText = 256 << 10;
const largest = { json: 4 * mib, html: 8 * mib, notebook: 16 * mib, image: 32 * mib, svg: 2 * mib, audio: 64 * mib, video: 64 * mib } as const;
/** An image with more pixels than this is not drawn: the browser would take four bytes for each. */
const mostPixels = 100_000_000;

/** Opens a file. Throws a NoPreviewError if it cannot be shown. */
export async function openFile(source: FileSource, format: string): Promise<Opened> {
  if (source.size === 0) throw new NoPreviewError(t("The file is empty."));
  const head = await source.read(0, headLength);
  const kind = kindOf(source.name, format, head);
  switch (kind.show) {
    case "parquet":
      return { show: "table", table: await (await chunk(() => import("./parquet"))).openParquet(source) };
    case "csv":
      return { show: "table", table: await (await chunk(() => import("./csv"))).openCsv(source, kind.delimiter) };
    case "npy":
      return { show: "array", array: await (await chunk(() => import("./npy"))).openNpy(source) };
    case "npz":
      return { show: "arrays", arrays: await (await chunk(() => import("./npz"))).openNpz(source) };
    case "json":
      return await jsonOf(source);
    case "notebook":
      return { show: "notebook", notebook: (await chunk(() => import("./notebook"))).notebookOf(textOf(await whole(source, largest.notebook))) };
    case "html":
      return { show: "html", html: textOf(await whole(source, largest.html)) };
    case "markdown":
    case "text":
      return await beginning(source, kind.show);
    case "image": {
      const data = await whole(source, kind.type === "image/svg+xml" ? largest.svg : largest.image);
      const pixels = pixelsOf(data);
      if (pixels !== undefined && pixels > mostPixels) throw new NoPreviewError(t("The image has {megapixels} megapixels, too many to draw.", { megapixels: Math.round(pixels / 1e6) }));
      return { show: kind.show, data, type: kind.type };
    }
    case "audio":
    case "video":
      return { show: kind.show, data: await whole(source, largest[kind.show]), type: kind.type };
    case "nothing":
      throw new NoPreviewError(t("{kind} cannot be shown. Download it to open it.", { kind: kind.what }));
  }
}

const textOf = (data: Uint8Array): string => new TextDecoder().decode(data);

/** A whole file, if it is not too large. */
async function whole(source: FileSource, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  if (source.size > limit) throw new NoPreviewError(t("The file has {size}. The console shows files of this kind up to {limit}.", { size: bytes(source.size), limit: bytes(limit) }));
  return await source.read(0, source.size);
}

async function beginning(source: FileSource, show: "text" | "markdown"): Promise<Opened> {
  const data = await source.read(0, shownText);
  const cut = source.size > data.length;
  return { show, text: new TextDecoder().decode(data, { stream: cut }), part: cut ? data.length : undefined };
}

/** JSON as a value to unfold; as text if it is too large or damaged. */
async function jsonOf(source: FileSource): Promise<Opened> {
  if (source.size > largest.json) return await beginning(source, "text");
  try {
    return { show: "json", value: (await chunk(() => import("./json"))).parseJson(textOf(await source.read(0, source.size))) };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return await beginning(source, "text");
    throw error;
  }
}
