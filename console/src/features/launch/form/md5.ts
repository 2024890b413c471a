// MD5, which upload locations ask for and browsers do not have. It proves that what arrives is what was sent, nothing more.

const shifts = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];
const constants = Uint32Array.from({ length: 64 }, (_, i) => Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32));

/** Digests bytes part by part. */
export class Md5 {
  readonly #state = Uint32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476);
  readonly #words = new Uint32Array(16);
  readonly #block = new Uint8Array(64);
  #held = 0;
  #length = 0;

  add(bytes: Uint8Array): this {
    this.#length += bytes.length;
    let from = 0;
    if (this.#held > 0) {
      from = Math.min(64 - this.#held, bytes.length);
      this.#block.set(bytes.subarray(0, from), this.#held);
      this.#held += from;
      if (this.#held < 64) return this;
      this.#mix(this.#block, 0);
    }
    for (; from + 64 <= bytes.length; from += 64) this.#mix(bytes, from);
    this.#block.set(bytes.subarray(from));
    this.#held = bytes.length - from;
    return this;
  }

  /** The digest of all that was added. Nothing can be added afterwards. */
  end(): Uint8Array<ArrayBuffer> {
    const length = this.#length;
    const padding = new Uint8Array(((this.#held < 56 ? 56 : 120) - this.#held) + 8);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, (length * 8) >>> 0, true);
    view.setUint32(padding.length - 4, Math.floor(length / 2 ** 29), true);
    this.add(padding);
    const digest = new Uint8Array(16);
    const out = new DataView(digest.buffer);
    this.#state.forEach((word, at) => out.setUint32(at * 4, word, true));
    return digest;
  }

  #mix(bytes: Uint8Array, from: number): void {
    const words = this.#words;
    for (let i = 0, at = from; i < 16; i++, at += 4) {
      words[i] = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
    }
    const state = this.#state;
    let [a = 0, b = 0, c = 0, d = 0] = state;
    for (let i = 0; i < 64; i++) {
      let f: number;
      let g: number;
      if (i < 16) {
        f = (b & c) | (~b & d);
        g = i;
      } else if (i < 32) {
        f = (d & b) | (~d & c);
        g = (5 * i + 1) & 15;
      } else if (i < 48) {
        f = b ^ c ^ d;
        g = (3 * i + 5) & 15;
      } else {
        f = c ^ (b | ~d);
        g = (7 * i) & 15;
      }
      const sum = (a + f + (constants[i] ?? 0) + (words[g] ?? 0)) | 0;
      const shift = shifts[((i >> 4) << 2) | (i & 3)] ?? 0;
      a = d;
      d = c;
      c = b;
      b = (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0;
    }
    state[0] = (state[0] ?? 0) + a;
    state[1] = (state[1] ?? 0) + b;
    state[2] = (state[2] ?? 0) + c;
    state[3] = (state[3] ?? 0) + d;
  }
}

/** So much of a file is read at once, in bytes; between the parts the page goes on. */
const part = 1 << 20;

/** The digest of a file, which is read in parts. */
export async function md5Of(file: Blob, signal: AbortSignal, progress: (bytes: number) => void): Promise<Uint8Array<ArrayBuffer>> {
  const digest = new Md5();
  for (let from = 0; from < file.size; from += part) {
    signal.throwIfAborted();
    digest.add(new Uint8Array(await file.slice(from, from + part).arrayBuffer()));
    progress(Math.min(from + part, file.size));
  }
  return digest.end();
}
