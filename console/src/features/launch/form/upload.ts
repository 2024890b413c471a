import { DataProxyService } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { md5Of } from "./md5";

/** How far an upload is. */
export interface Progress {
  readonly doing: "hashing" | "sending";
  readonly done: number;
  readonly total: number;
}

/** Something to upload: a file, with its path when it belongs to a folder. */
export interface Upload {
  readonly file: File;
  readonly path: string;
}

/** Puts files into the store, and says where they are: the file itself, or the folder of all. */
export async function upload(place: Place, files: readonly Upload[], folder: boolean, signal: AbortSignal, progress: (progress: Progress) => void): Promise<string> {
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

/** A name for a folder that no other has. */
function newRoot(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Only the older of the browser's two ways of sending tells how far it is. */
function put(file: File, url: string, headers: Readonly<Record<string, string>>, signal: AbortSignal, progress: (done: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const fail = (reason: string) => reject(new Error(`${file.name} could not be uploaded: ${reason}`));
    const stop = () => request.abort();
    request.open("PUT", url);
    for (const [name, value] of Object.entries(headers)) if (!/^(host|content-length)$/i.test(name)) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => progress(event.loaded);
    request.onload = () => (request.status < 300 ? resolve() : fail(`the store answered ${request.status} ${request.responseText.slice(0, 200)}`));
    request.onerror = () => fail(`the store cannot be reached, or its CORS rules do not let ${location.origin} put files there`);
    request.onabort = () => reject(new DOMException("The upload was stopped", "AbortError"));
    request.onloadend = () => signal.removeEventListener("abort", stop);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    else request.send(file);
  });
}
