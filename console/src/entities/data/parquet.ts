import {
  parquetMetadata,
  parquetRead,
  parquetSchema,
  snappyUncompress,
  type AsyncBuffer,
  type ColumnMetaData,
  type Compressors,
  type FileMetaData,
  type ParquetParsers,
  type SchemaTree,
  type Statistics,
} from "hyparquet";
import { chunk } from "@/api/chunk";
import { bytes } from "@/design/format";
import { t, tn } from "@/texts/texts";
import { NoPreviewError, type FileSource } from "./source";
import { cellOf, shownRows, type Cell, type ColumnFacts, type Page, type TableData } from "./table-data";
import { typeOf } from "./parquet-type";

type MinMax = NonNullable<Statistics["min"]>;

/** How much of the end of a file is read at once, in bytes: the footer is there. */
const tailLength = 256 << 10;
const largestFooter = 16 << 20;
/** How much of a column is read, in bytes, until it is enough for the first rows. */
const prefixes = [256 << 10, 3 << 20, 16 << 20] as const;
/** The largest page that is decompressed, in bytes. */
const largestPage = 64 << 20;
const columnsAtOnce = 4;

/** Opens a Parquet file: reads its footer. */
export async function openParquet(source: FileSource): Promise<TableData> {
  const metadata = await footerOf(source);
  const schema = parquetSchema(metadata);
  const columns = factsOf(metadata, schema);
  const file: AsyncBuffer = { byteLength: source.size, slice: async (start, end = source.size) => (await source.read(start, end)).buffer };
  const rows = Number(metadata.num_rows);
  return {
    columns,
    rows,
    factsOf: undefined,
    about: [tn(metadata.row_groups.length, "Parquet, {n} row group, {codecs}", "Parquet, {n} row groups, {codecs}", { codecs: codecsOf(metadata) }), ...(metadata.created_by ? [metadata.created_by] : [])],
    page: async (from, to): Promise<Page> => {
      const wanted = columns.slice(from, to);
      const cells = new Array<readonly Cell[] | string>(wanted.length);
      const reader = { file, metadata, count: Math.min(shownRows, rows) };
      let next = 0;
      const worker = async () => {
        for (let at = next++; at < wanted.length; at = next++) {
          const column = schema.children[from + at];
          if (column) cells[at] = await columnCells(reader, column);
        }
      };
      await Promise.all(Array.from({ length: columnsAtOnce }, worker));
      return { columns: wanted, cells, rows: reader.count };
    },
  };
}

async function footerOf(source: FileSource): Promise<FileMetaData> {
  if (source.size < 12) throw new NoPreviewError(t("The file is damaged: it is too short to be a Parquet file."));
  const tail = await source.read(Math.max(0, source.size - tailLength), source.size);
  const view = new DataView(tail.buffer);
  const magic = new TextDecoder("latin1").decode(tail.subarray(-4));
  if (magic === "PARE") throw new NoPreviewError(t("The footer of the file is encrypted."));
  if (magic !== "PAR1") throw new NoPreviewError(t("The file is damaged or incomplete: it begins like a Parquet file but does not end with a footer."));
  const length = view.getUint32(tail.length - 8, true);
  if (length > source.size - 12) {
    throw new NoPreviewError(t("The file is damaged: its footer claims to have {length}, more than the file.", { length: bytes(length) }));
  }
  if (length > largestFooter) throw new NoPreviewError(t("The footer has {length}. The console reads up to {largestFooter}.", { length: bytes(length), largestFooter: bytes(largestFooter) }));
  const footer = length + 8 <= tail.length ? tail : await source.read(source.size - length - 8, source.size);
  try {
    return parquetMetadata(footer.buffer, { parsers, geoparquet: false });
  } catch (error) {
    throw new NoPreviewError(t("The footer of the file is damaged: {message}", { message: message(error) }));
  }
}

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const codecsOf = ({ row_groups }: FileMetaData): string => {
  const codecs = new Set(row_groups[0]?.columns.map((column) => column.meta_data?.codec.toLowerCase()));
  return [...codecs].filter((codec) => codec !== undefined).join(", ") || t("no data");
};

const day = 86_400_000n;

/** A moment as text, with all digits: a Date would round to milliseconds. */
function moment(count: bigint, perSecond: bigint): string {
  const millis = (count * 1000n) / perSecond - (count < 0n && (count * 1000n) % perSecond !== 0n ? 1n : 0n);
  if (millis > 8_640_000_000_000_000n || millis < -8_640_000_000_000_000n) return `${count}`;
  const date = new Date(Number(millis)).toISOString();
  const below = ((count % perSecond) + perSecond) % perSecond;
  if (below === 0n) return millis % day === 0n ? date.slice(0, 10) : date.slice(0, 19);
  return `${date.slice(0, 19)}.${below.toString().padStart(perSecond.toString().length - 1, "0").replace(/0+$/, "")}`;
}

const parsers: Partial<ParquetParsers> = {
  timestampFromMilliseconds: (millis) => moment(millis, 1000n),
  timestampFromMicroseconds: (micros) => moment(micros, 1_000_000n),
  timestampFromNanoseconds: (nanos) => moment(nanos, 1_000_000_000n),
};

const unknown = { nulls: undefined, min: undefined, max: undefined };

/** The facts of all columns, added up over the row groups. */
function factsOf(metadata: FileMetaData, schema: SchemaTree): readonly ColumnFacts[] {
  const leaves = new Map<string, ColumnMetaData[]>();
  for (const group of metadata.row_groups) {
    for (const { meta_data: leaf } of group.columns) {
      if (leaf?.path_in_schema.length !== 1) continue; // the parts of a nested column say little about it
      const name = leaf.path_in_schema[0] ?? "";
      const known = leaves.get(name);
      if (known) known.push(leaf);
      else leaves.set(name, [leaf]);
    }
  }
  return schema.children.map((column) => {
    const chunks = leaves.get(column.element.name) ?? [];
    const complete = column.children.length === 0 && chunks.length === metadata.row_groups.length;
    const type = typeOf(column);
    // The library decodes the least and the greatest bytes as text.
    if (complete && type === "bytes") return { name: column.element.name, type, nulls: sumOf(chunks).nulls, min: undefined, max: undefined };
    return { name: column.element.name, type, ...(complete ? sumOf(chunks) : unknown) };
  });
}

function sumOf(chunks: readonly ColumnMetaData[]): Pick<ColumnFacts, "nulls" | "min" | "max"> {
  const nulls = chunks.flatMap(({ statistics }) => statistics?.null_count ?? []);
  // A row group in which all is null has no least and no greatest value.
  const filled = chunks.filter(({ statistics, num_values }) => statistics?.null_count !== num_values);
  return {
    nulls: nulls.length === chunks.length ? Number(nulls.reduce((sum, one) => sum + one, 0n)) : undefined,
    min: extreme(filled.map(({ statistics }) => statistics?.min_value ?? statistics?.min), (a, b) => a < b),
    max: extreme(filled.map(({ statistics }) => statistics?.max_value ?? statistics?.max), (a, b) => a > b),
  };
}

/** The value that goes before all others; undefined if one is not known. */
function extreme(values: readonly (MinMax | undefined)[], before: (a: MinMax, b: MinMax) => boolean): string | undefined {
  let best: MinMax | undefined;
  for (const value of values) {
    if (value === undefined || value instanceof Uint8Array) return undefined;
    if (best === undefined || before(value, best)) best = value;
  }
  return best === undefined ? undefined : cellOf(best).text;
}

interface Reader {
  readonly file: AsyncBuffer;
  readonly metadata: FileMetaData;
  /** How many rows to read. */
  readonly count: number;
}

/** The first cells of a column, or why there are none. */
async function columnCells(reader: Reader, column: SchemaTree): Promise<readonly Cell[] | string> {
  const sizes = chunkSizes(reader, column);
  const flat = column.children.length === 0 && column.element.repetition_type !== "REPEATED";
  if (!flat && Math.max(...sizes) > prefixes[2]) return t("too large: {max}", { max: bytes(Math.max(...sizes)) });
  let problem = "";
  for (const prefix of flat ? prefixes : [prefixes[2]]) {
    try {
      const cells = await cellsWithin(reader, column, prefix);
      if (cells.length >= reader.count) return cells.slice(0, reader.count);
      problem = t("damaged: the column has fewer rows than the file says");
    } catch (error) {
      if (error instanceof NoPreviewError || !(error instanceof Error) || error.name === "ConnectError") throw error;
      problem = error instanceof UnreadableError ? error.message : t("damaged: {message}", { message: error.message });
      if (error instanceof UnreadableError) return problem;
    }
    if (Math.max(...sizes) <= prefix) return problem;
  }
  return problem;
}

/** Why a column cannot be read, whatever is read of it. */
class UnreadableError extends Error {
  override readonly name = "UnreadableError";
}

/** The sizes of the column's data in the row groups that have the first rows. */
function chunkSizes({ metadata, count }: Reader, column: SchemaTree): readonly number[] {
  const sizes = [0];
  let rows = 0;
  for (const group of metadata.row_groups) {
    if (rows >= count) break;
    rows += Number(group.num_rows);
    for (const { meta_data: leaf } of group.columns) {
      if (leaf?.path_in_schema[0] === column.element.name) sizes.push(Number(leaf.total_compressed_size));
    }
  }
  return sizes;
}

/** Decodes the first rows of a column from the beginning of its data. */
async function cellsWithin({ file, metadata, count }: Reader, column: SchemaTree, prefix: number): Promise<readonly Cell[]> {
  const name = column.element.name;
  const limit = BigInt(prefix);
  // The data of a column are pages, of which the first are enough. So the column is said to be shorter than it is.
  const shorter: FileMetaData = {
    ...metadata,
    row_groups: metadata.row_groups.map((group) => ({
      ...group,
      columns: group.columns
        .filter(({ meta_data: leaf }) => leaf?.path_in_schema[0] === name)
        .map((chunk) => {
          const leaf = chunk.meta_data;
          return leaf && leaf.total_compressed_size > limit ? { ...chunk, meta_data: { ...leaf, total_compressed_size: limit } } : chunk;
        }),
    })),
  };
  let rows: unknown[][] = [];
  await parquetRead({
    file,
    metadata: shorter,
    columns: [name],
    rowStart: 0,
    rowEnd: count,
    compressors: await compressorsOf(shorter),
    parsers,
    geoparquet: false,
    utf8: false,
    onComplete: (found) => (rows = found as unknown[][]),
  });
  // Rows beyond the pages that were read are undefined, and nulls are null.
  const end = rows.findIndex((row) => row[0] === undefined);
  return (end < 0 ? rows : rows.slice(0, end)).map((row) => cellOf(row[0]));
}

/** The codecs of a library of its own: its dictionary is large, and few files need it. */
const rare: ReadonlySet<string> = new Set(["BROTLI", "LZ4", "LZ4_RAW"]);

async function compressorsOf({ row_groups }: FileMetaData): Promise<Compressors> {
  const [{ decompress }, { gunzipSync }] = await chunk(() => Promise.all([import("fzstd"), import("fflate")]));
  const needed = row_groups.some(({ columns }) => columns.some(({ meta_data: leaf }) => leaf && rare.has(leaf.codec)));
  const more = needed ? await chunk(() => import("./parquet-codecs")) : undefined;
  // What a page says of its size decides how much memory it takes.
  const bounded = (length: number): number => {
    if (length > largestPage) throw new UnreadableError(t("too large: a page has {length}", { length: bytes(length) }));
    return length;
  };
  const within = (length: number) => new Uint8Array(bounded(length));
  return {
    ...(more && {
      BROTLI: (input, length) => more.decompressBrotli(input, bounded(length)),
      // A page of nulls only is an empty block, which the library takes for a damaged one.
      LZ4: (input, length) => (length === 0 ? within(0) : more.decompressLz4(input, bounded(length))),
      LZ4_RAW: (input, length) => (length === 0 ? within(0) : more.decompressLz4Raw(input, bounded(length))),
    }),
    SNAPPY: (input, length) => {
      const output = within(length);
      snappyUncompress(input, output);
      return output;
    },
    GZIP: (input, length) => gunzipSync(input, { out: within(length) }),
    ZSTD: (input, length) => decompress(input, within(length)),
    LZO: () => {
      throw new UnreadableError(t("compressed with {codec}, which the console does not read", { codec: "LZO" }));
    },
  };
}
