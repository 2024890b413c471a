import { bytes } from "@/design/format";
import { t } from "@/texts/texts";
import { NoPreviewError, type FileSource } from "./source";

/** A file in a ZIP archive. */
export interface ZipEntry {
  readonly name: string;
  /** In bytes, as the archive says. */
  readonly size: number;
  /** 0 is stored, 8 is deflated. */
  readonly method: number;
  readonly compressed: number;
  /** Where its header begins. */
  readonly at: number;
  readonly encrypted: boolean;
}

/** The end record with the longest comment, and the locator of ZIP64 before it. */
const longestEnd = 22 + 0xffff + 20;
const largestDirectory = 4 << 20;

const damaged = () => new NoPreviewError(t("The archive is damaged or incomplete: it has no list of its files."));

/** The files of an archive, as its list at the end says. */
export async function entriesOf(source: FileSource): Promise<readonly ZipEntry[]> {
  const tail = await source.read(Math.max(0, source.size - longestEnd), source.size);
  const view = viewOf(tail);
  let end = tail.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) throw damaged();
  let [size, from] = [view.getUint32(end + 12, true), view.getUint32(end + 16, true)];
  if (from === 0xffffffff && end >= 20 && view.getUint32(end - 20, true) === 0x07064b50) {
    const record = await source.read(Number(view.getBigUint64(end - 12, true)), Number(view.getBigUint64(end - 12, true)) + 56);
    if (record.length < 56 || viewOf(record).getUint32(0, true) !== 0x06064b50) throw damaged();
    [size, from] = [Number(viewOf(record).getBigUint64(40, true)), Number(viewOf(record).getBigUint64(48, true))];
  }
  if (size > largestDirectory) throw new NoPreviewError(t("The list of the archive's files has {size}, too much to read.", { size: bytes(size) }));
  const list = await source.read(from, from + size);
  if (list.length < size) throw damaged();
  return entriesIn(list);
}

function entriesIn(list: Uint8Array): readonly ZipEntry[] {
  const view = viewOf(list);
  const entries: ZipEntry[] = [];
  for (let at = 0; at + 46 <= list.length; ) {
    if (view.getUint32(at, true) !== 0x02014b50) throw damaged();
    const [name, extra, comment] = [view.getUint16(at + 28, true), view.getUint16(at + 30, true), view.getUint16(at + 32, true)];
    const next = at + 46 + name + extra + comment;
    if (next > list.length) throw damaged();
    const sizes = wide(
      [view.getUint32(at + 24, true), view.getUint32(at + 20, true), view.getUint32(at + 42, true)],
      list.subarray(at + 46 + name, at + 46 + name + extra),
    );
    entries.push({
      name: new TextDecoder().decode(list.subarray(at + 46, at + 46 + name)),
      encrypted: (view.getUint16(at + 8, true) & 1) === 1,
      method: view.getUint16(at + 10, true),
      size: sizes[0],
      compressed: sizes[1],
      at: sizes[2],
    });
    at = next;
  }
  return entries;
}

type Sizes = readonly [size: number, compressed: number, at: number];

/** Numbers that do not fit into four bytes are in an extra field, in this order. */
function wide(given: Sizes, extra: Uint8Array): Sizes {
  const view = viewOf(extra);
  for (let at = 0; at + 4 <= extra.length; at += 4 + view.getUint16(at + 2, true)) {
    if (view.getUint16(at, true) !== 1) continue;
    let from = at + 4;
    const read = (number: number): number => {
      if (number !== 0xffffffff || from + 8 > extra.length) return number;
      from += 8;
      return Number(view.getBigUint64(from - 8, true));
    };
    return [read(given[0]), read(given[1]), read(given[2])];
  }
  return given;
}

/** How much is decompressed at once, in compressed bytes: a piece becomes at most a thousand times larger. */
const piece = 16 << 10;

/** A file of an archive as a source of its own. It decompresses no more than is asked for. */
export async function entrySource(archive: FileSource, entry: ZipEntry): Promise<FileSource> {
  if (entry.encrypted) throw new NoPreviewError(t("It is encrypted."));
  const head = await archive.read(entry.at, entry.at + 30);
  if (head.length < 30 || viewOf(head).getUint32(0, true) !== 0x04034b50) throw damaged();
  const start = entry.at + 30 + viewOf(head).getUint16(26, true) + viewOf(head).getUint16(28, true);
  const cut = () => new NoPreviewError(t("It is shorter than the archive says."));
  const { name, size } = entry;
  if (entry.method === 0) {
    return {
      name,
      size,
      read: async (from, to) => {
        const end = Math.min(to, size);
        const data = await archive.read(start + from, start + end);
        if (data.length < end - from) throw cut();
        return data;
      },
    };
  }
  if (entry.method !== 8) throw new NoPreviewError(t("It is compressed by method {method}, which the console does not read.", { method: entry.method }));
  const { Inflate } = await import("fflate");
  let known = new Uint8Array(0);
  let at = 0;
  const inflate = new Inflate((data) => {
    const longer = new Uint8Array(known.length + data.length);
    longer.set(known);
    longer.set(data, known.length);
    known = longer;
  });
  return {
    name,
    size,
    read: async (from, to) => {
      const end = Math.min(to, size);
      while (known.length < end) {
        if (at >= entry.compressed) throw cut();
        const data = await archive.read(start + at, start + Math.min(at + piece, entry.compressed));
        if (data.length === 0) throw cut();
        at += data.length;
        try {
          inflate.push(data, at >= entry.compressed);
        } catch {
          throw new NoPreviewError(t("Its compressed data is damaged."));
        }
      }
      return known.slice(from, end);
    },
  };
}

const viewOf = (data: Uint8Array): DataView => new DataView(data.buffer, data.byteOffset, data.byteLength);
