import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { float, none, time, type Value } from "./value";

const deepest = 100;

/** Reads one value in msgpack, the form in which clients send structures. Fails when it is anything else. */
export function unpack(bytes: Uint8Array): Value {
  const reader = new Reader(bytes);
  const value = reader.value(0);
  if (!reader.done) throw new Error("there is more than one value");
  return value;
}

class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get done(): boolean {
    return this.#at === this.#bytes.length;
  }

  value(depth: number): Value {
    if (depth > deepest) throw new Error("it is nested too deep");
    const code = this.#unsigned(1);
    if (code < 0x80) return whole(code);
    if (code < 0x90) return this.#map(code & 0x0f, depth);
    if (code < 0xa0) return this.#list(code & 0x0f, depth);
    if (code < 0xc0) return this.#text(code & 0x1f);
    if (code >= 0xe0) return whole(code - 0x100);
    switch (code) {
      case 0xc0:
        return none;
      case 0xc2:
      case 0xc3:
        return { kind: "boolean", value: code === 0xc3 };
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return { kind: "bytes", bytes: this.#take(this.#unsigned(1 << (code - 0xc4))), tag: "" };
      case 0xc7:
      case 0xc8:
      case 0xc9:
        return this.#extension(this.#unsigned(1 << (code - 0xc7)));
      case 0xca:
        return float(this.#float(4));
      case 0xcb:
        return float(this.#float(8));
      case 0xcc:
      case 0xcd:
      case 0xce:
        return whole(this.#unsigned(1 << (code - 0xcc)));
      case 0xcf:
        return whole(this.#wide().getBigUint64(0));
      case 0xd0:
        return whole((this.#unsigned(1) << 24) >> 24);
      case 0xd1:
        return whole((this.#unsigned(2) << 16) >> 16);
      case 0xd2:
        return whole(this.#unsigned(4) | 0);
      case 0xd3:
        return whole(this.#wide().getBigInt64(0));
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8:
        return this.#extension(1 << (code - 0xd4));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#text(this.#unsigned(1 << (code - 0xd9)));
      case 0xdc:
      case 0xdd:
        return this.#list(this.#unsigned(code === 0xdc ? 2 : 4), depth);
      case 0xde:
      case 0xdf:
        return this.#map(this.#unsigned(code === 0xde ? 2 : 4), depth);
      default:
        throw new Error("it is no msgpack");
    }
  }

  #list(length: number, depth: number): Value {
    const items: Value[] = [];
    for (let i = 0; i < length; i++) items.push(this.value(depth + 1));
    return { kind: "list", items };
  }

  #map(length: number, depth: number): Value {
    const entries: (readonly [string, Value])[] = [];
    for (let i = 0; i < length; i++) entries.push([keyOf(this.value(depth + 1)), this.value(depth + 1)]);
    return { kind: "map", struct: true, entries };
  }

  #text(length: number): Value {
    return { kind: "text", text: new TextDecoder().decode(this.#take(length)) };
  }

  #extension(length: number): Value {
    const type = (this.#unsigned(1) << 24) >> 24;
    const bytes = this.#take(length);
    if (type !== -1) return { kind: "bytes", bytes, tag: "" };
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let seconds: number;
    let nanos = 0;
    if (length === 4) {
      seconds = view.getUint32(0);
    } else if (length === 8) {
      nanos = view.getUint32(0) >>> 2;
      seconds = (view.getUint32(0) & 3) * 2 ** 32 + view.getUint32(4);
    } else {
      nanos = view.getUint32(0);
      seconds = Number(view.getBigInt64(4));
    }
    return time({ ...timestampFromMs(seconds * 1000), nanos });
  }

  #take(length: number): Uint8Array {
    if (this.#at + length > this.#bytes.length) throw new Error("it is cut off");
    const taken = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return taken;
  }

  #unsigned(length: number): number {
    let value = 0;
    for (const byte of this.#take(length)) value = value * 256 + byte;
    return value;
  }

  #wide(): DataView {
    const bytes = this.#take(8);
    return new DataView(bytes.buffer, bytes.byteOffset, 8);
  }

  #float(length: 4 | 8): number {
    const at = this.#at;
    this.#take(length);
    return length === 4 ? this.#view.getFloat32(at) : this.#view.getFloat64(at);
  }
}

const whole = (value: number | bigint): Value => ({ kind: "number", digits: value.toString(), whole: true });

function keyOf(key: Value): string {
  switch (key.kind) {
    case "text":
      return key.text;
    case "number":
      return key.digits;
    case "boolean":
      return String(key.value);
    case "none":
      return "null";
    default:
      throw new Error("a key must be a text or a number");
  }
}
