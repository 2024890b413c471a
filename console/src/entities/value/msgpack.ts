import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { decodeTimestampToTimeSpec, Decoder, EXT_TIMESTAMP, ExtData, ExtensionCodec } from "@msgpack/msgpack";
import { float, noneValue, time, type Value } from "./value-type";

const maxDepth = 100;

/** Decodes one value in msgpack, the form in which clients send structures. Throws on anything else. */
export function unpack(bytes: Uint8Array): Value {
  return valueOf(decoderFor(bytes.length).decode(bytes), 0);
}

/** A float as it was encoded: JavaScript has one number type for 2 and 2.0, Python has two. */
class Float {
  constructor(readonly value: number) {}
}

/** A timestamp with its nanoseconds, which a Date would lose. */
class Timestamp {
  constructor(
    readonly seconds: number,
    readonly nanos: number,
  ) {}
}

const extensionCodec = new ExtensionCodec();
extensionCodec.register({
  type: EXT_TIMESTAMP,
  encode: () => null,
  decode: (data) => {
    const { sec, nsec } = decodeTimestampToTimeSpec(data);
    return new Timestamp(sec, nsec);
  },
});

/** The methods with which the decoder reads floats. They are private; the version is pinned, and tests tell 2 from 2.0. */
interface FloatMethods {
  readF32: () => unknown;
  readF64: () => unknown;
}

/**
 * A decoder for an input of a length. A plain object would reorder numeric keys, merge duplicate keys and refuse `__proto__`, so
 * keys are prefixed: text with a mark when it is decoded, and every key with its position.
 */
function decoderFor(length: number): Decoder {
  const text = new TextDecoder();
  let position = 0;
  const decoder = new Decoder({
    extensionCodec,
    useBigInt64: true,
    // A wrong length must not allocate more than the input can hold.
    maxArrayLength: length,
    maxMapLength: length,
    keyDecoder: {
      canBeCached: () => true,
      decode: (bytes, offset, size) => `=${text.decode(bytes.subarray(offset, offset + size))}`,
    },
    mapKeyConverter: (key) => `${position++}:${keyOf(key)}`,
  });
  const methods = decoder as unknown as FloatMethods;
  const { readF32, readF64 } = methods;
  methods.readF32 = () => new Float(readF32.call(decoder) as number);
  methods.readF64 = () => new Float(readF64.call(decoder) as number);
  return decoder;
}

function valueOf(decoded: unknown, depth: number): Value {
  if (depth > maxDepth) throw new Error(`The value is nested deeper than ${maxDepth} levels.`);
  switch (typeof decoded) {
    case "string":
      return { kind: "text", text: decoded };
    case "number":
    case "bigint":
      return { kind: "number", digits: decoded.toString(), whole: true };
    case "boolean":
      return { kind: "boolean", value: decoded };
    default:
  }
  if (decoded === null || decoded === undefined) return noneValue;
  if (decoded instanceof Float) return float(decoded.value);
  if (decoded instanceof Timestamp) return time({ ...timestampFromMs(decoded.seconds * 1000), nanos: decoded.nanos });
  if (decoded instanceof Uint8Array) return { kind: "bytes", bytes: decoded, tag: "" };
  if (decoded instanceof ExtData) return { kind: "bytes", bytes: decoded.data as Uint8Array, tag: "" };
  if (Array.isArray(decoded)) return { kind: "list", items: decoded.map((item) => valueOf(item, depth + 1)) };
  const entries = Object.entries(decoded).map(([key, value]) => [key.slice(key.indexOf(":") + 1), valueOf(value, depth + 1)] as const);
  return { kind: "map", struct: true, entries };
}

/** A key as text. The key decoder has marked text with "=", to tell it from numbers. */
function keyOf(key: unknown): string {
  if (key instanceof Float) return digitsOf(key);
  switch (typeof key) {
    case "string":
      return key.slice(1);
    case "number":
    case "bigint":
    case "boolean":
      return String(key);
    default:
      if (key === null) return "null";
      throw new Error("A key of a map must be text, a number, a boolean or null.");
  }
}

const digitsOf = ({ value }: Float): string => {
  const number = float(value);
  return number.kind === "number" ? number.digits : String(value);
};
