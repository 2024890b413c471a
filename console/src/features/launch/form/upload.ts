import { DataProxyService } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { t } from "@/texts/texts";
import { md5Of } from "./md5";

/** The progress of an upload, in bytes. */
export interface Progress {
  readonly doing: "hashing" | "sending";
  readonly done: number;
  readonly total: number;
}

/** A file to upload, with its path in the folder. */
export interface Upload {
  readonly file: File;
  readonly path: string;
}

/** Uploads files, and returns the URI of the file or the folder. */
export async function upload(
  place: Place,
  files: readonly Upload[],
  folder: boolean,
  signal: AbortSignal,
  progress: (progress: Progress) => void,
): Promise<string> {
  const total = files.reduce((sum, { file }) => sum + file.size, 0);
  const root = folder ? newRoot() : "";
  let before = 0;
  let address = "";
  for (const { file, path } of files) {
    const at = before;
    const digest = await md5Of(file, signal, (done) => progress({ doing: "hashing", done: at + done, total }));
    const location = await client(DataProxyService).createUploadLocation(
      { ...place, filename: path, filenameRoot: root, contentMd5: digest, contentLength: BigInt(file.size) },
      { signal },
    );
    await put(file, location.signedUrl, location.headers, signal, (done) => progress({ doing: "sending", done: at + done, total }));
    address = folder ? location.nativeUrl.slice(0, -path.length - 1) : location.nativeUrl;
    before += file.size;
  }
  return address;
}

/** A unique name for a folder. */
function newRoot(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Uses XMLHttpRequest, because fetch reports no upload progress. */
function put(file: File, url: string, headers: Readonly<Record<string, string>>, signal: AbortSignal, progress: (done: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const fail = (reason: string) => reject(new Error(`Upload of ${file.name} failed: ${reason}`));
    const stop = () => request.abort();
    request.open("PUT", url);
    for (const [name, value] of Object.entries(headers)) if (!/^(host|content-length)$/i.test(name)) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => progress(event.loaded);
    request.onload = () => (request.status < 300 ? resolve() : fail(t("the object store answered {status} {message}", { status: request.status, message: request.responseText.slice(0, 200) })));
    request.onerror = () => fail(t("the object store is unreachable, or its CORS rules do not allow PUT from {origin}.", { origin: location.origin }));
    request.onabort = () => reject(new DOMException(t("The upload was canceled"), "AbortError"));
    request.onloadend = () => signal.removeEventListener("abort", stop);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    else request.send(file);
  });
}
