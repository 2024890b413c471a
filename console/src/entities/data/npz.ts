import { t } from "@/texts/texts";
import { openNpy, type ArrayData } from "./npy";
import { NoPreviewError, type FileSource } from "./source";
import { entriesOf, entrySource, type ZipEntry } from "./zip";

/** One array of an archive, or why it cannot be shown. */
export interface NamedArray {
  readonly name: string;
  readonly size: number;
  readonly array: ArrayData | string;
}

/** The first arrays of an archive that NumPy saved. */
export interface ArraysData {
  readonly arrays: readonly NamedArray[];
  readonly total: number;
}

const mostArrays = 50;
/** How much of the values of one array is read, in bytes. */
const beginning = 128 << 10;

/** Opens a file in the format of numpy.savez. */
export async function openNpz(source: FileSource): Promise<ArraysData> {
  const entries = (await entriesOf(source)).filter(({ name }) => !name.endsWith("/"));
  const arrays: NamedArray[] = [];
  for (const entry of entries.slice(0, mostArrays)) arrays.push({ name: entry.name.replace(/\.npy$/, ""), size: entry.size, array: await arrayOf(source, entry) });
  return { arrays, total: entries.length };
}

async function arrayOf(source: FileSource, entry: ZipEntry): Promise<ArrayData | string> {
  if (!entry.name.endsWith(".npy")) return t("It is not an array.");
  try {
    return await openNpy(await entrySource(source, entry), beginning);
  } catch (error) {
    if (error instanceof NoPreviewError) return error.message;
    throw error;
  }
}
