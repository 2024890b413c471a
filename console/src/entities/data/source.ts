import { FileService } from "@gen/flytebinary/insight/v1/files_pb.js";
import { binaryClient } from "@/api/transport";
import { bytes } from "@/design/format";
import { actionId, type ActionName } from "@/entities/action/name";
import { sourceOf } from "@/entities/run/kind";
import { t } from "@/texts/texts";

/** The most that one request returns, in bytes. */
const largestPart = 4 << 20;
/** A file of at most this size, in bytes, is read as a whole, once. */
const smallFile = 1 << 20;
/** The most that one preview reads, in bytes. */
const budget = 64 << 20;
const partsAtOnce = 4;

/** A file of a run, read in parts through the server: the browser needs no access to the object store. */
export interface FileSource {
  /** The last part of the path. */
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  /** Reads from a position up to another, or to the end of the file if that is first. */
  readonly read: (from: number, to: number) => Promise<Uint8Array<ArrayBuffer>>;
}

/** A file that the inputs or outputs of an action point to. */
export interface FileRef {
  readonly action: ActionName;
  readonly uri: string;
  /** Its path below the URI; empty for the file that the URI names. */
  readonly path: string;
  readonly size: number;
}

/** Why a file cannot be shown, in words for the reader. */
export class NoPreviewError extends Error {
  override readonly name = "NoPreviewError";
}

export const lastPart = (path: string): string => path.replace(/\/+$/, "").split("/").at(-1) ?? "";

export const nameOf = ({ uri, path }: Pick<FileRef, "uri" | "path">): string => lastPart(path || uri);

/** Reads a part of a file. */
type ReadPart = (from: number, length: number) => Promise<Uint8Array<ArrayBuffer>>;

/** A file of an action as a source. It stops reading when the signal says so. */
export function sourceFor(file: FileRef, signal: AbortSignal): FileSource {
  return bounded(nameOf(file), file.size, async (from, length) => {
    const { data } = await binaryClient(FileService).readFile(
      { actionId: actionId(file.action), runSource: sourceOf(file.action.run), uri: file.uri, path: file.path, offset: BigInt(from), length },
      { signal },
    );
    return data as Uint8Array<ArrayBuffer>;
  });
}

/** A source that reads in parts, a small file only once, and never more than the budget. */
export function bounded(name: string, size: number, readPart: ReadPart, limit = budget): FileSource {
  let spent = 0;
  let whole: Promise<Uint8Array<ArrayBuffer>> | undefined;
  const read = async (from: number, to: number): Promise<Uint8Array<ArrayBuffer>> => {
    const end = Math.min(to, size);
    if (from >= end) return new Uint8Array();
    spent += end - from;
    if (spent > limit) throw new NoPreviewError(t("The preview would read more than {limit}. Download the file to see it.", { limit: bytes(limit) }));
    const parts: (readonly [from: number, length: number])[] = [];
    for (let at = from; at < end; at += largestPart) parts.push([at, Math.min(largestPart, end - at)]);
    const found = new Uint8Array(end - from);
    let next = 0;
    const worker = async () => {
      for (let part = parts[next++]; part; part = parts[next++]) {
        const data = await readPart(...part);
        if (data.length !== part[1]) throw new NoPreviewError(t("The file changed while it was read."));
        found.set(data, part[0] - from);
      }
    };
    await Promise.all(Array.from({ length: Math.min(partsAtOnce, parts.length) }, worker));
    return found;
  };
  if (size > smallFile) return { name, size, read };
  return {
    name,
    size,
    read: async (from, to) => {
      whole ??= read(0, size);
      return (await whole).slice(from, to);
    },
  };
}
