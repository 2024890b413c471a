import { md5 } from "@noble/hashes/legacy.js";

/** How much of a file is read at once, in bytes. The page stays responsive between the parts. */
const partSize = 1 << 20;

/**
 * The MD5 digest of a file, which is read in parts. Upload locations ask for it to prove that the file arrived unchanged, nothing
 * more; browsers have no MD5 of their own.
 */
export async function md5Of(file: Blob, signal: AbortSignal, progress: (bytes: number) => void): Promise<Uint8Array<ArrayBuffer>> {
  const digest = md5.create();
  for (let from = 0; from < file.size; from += partSize) {
    signal.throwIfAborted();
    digest.update(new Uint8Array(await file.slice(from, from + partSize).arrayBuffer()));
    progress(Math.min(from + partSize, file.size));
  }
  return new Uint8Array(digest.digest());
}
