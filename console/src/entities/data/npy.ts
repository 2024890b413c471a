import { bytes, count } from "@/design/format";
import { t } from "@/texts/texts";
import { NoPreviewError, type FileSource } from "./source";
import { cellOf, type Cell } from "./table-data";

/** The beginning of an array that NumPy saved. */
export interface ArrayData {
  readonly shape: readonly number[];
  /** As NumPy names it, such as float64. */
  readonly dtype: string;
  readonly fortran: boolean;
  /** The first values: a row for each of the first indices, by the last axis. */
  readonly rows: readonly (readonly Cell[])[];
  /** The indices of each row in all axes but the last. */
  readonly labels: readonly string[];
  /** How many values have a place in the rows, without those of rows that are cut. */
  readonly shown: number;
  readonly total: number;
  /** Of the values that were read. Undefined if they are not numeric. */
  readonly min: string | undefined;
  readonly max: string | undefined;
  readonly mean: string | undefined;
  /** How many values were read for min, max and mean. */
  readonly read: number;
}

const largestHeader = 64 << 10;
/** How much of the values is read, in bytes. */
const beginning = 4 << 20;
const mostRows = 50;
const mostColumns = 30;

/** Opens a file in the format of numpy.save. */
export async function openNpy(source: FileSource, most = beginning): Promise<ArrayData> {
  const { descr, fortran, shape, start } = await headerOf(source);
  const type = elementOf(descr);
  if (!type) throw new NoPreviewError(t("The array has elements of type {type}, which the console does not read. Its shape is {shape}.", { type: descr.slice(0, 100), shape: shapeWords(shape) }));
  const total = shape.reduce((product, side) => product * side, 1);
  if (start + total * type.size > source.size) throw new NoPreviewError(t("The file is damaged: it is shorter than its header says."));
  const read = Math.min(total, Math.floor(most / Math.max(1, type.size)));
  const data = await source.read(start, start + read * type.size);
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const get = (at: number): unknown => type.get(view, at * type.size);
  const width = shape.at(-1) ?? 1;
  const height = width === 0 ? 0 : total / width;
  // In Fortran order the first index changes fastest; the place of a value follows from its index in C order.
  const placeOf = (index: number): number => (fortran ? fortranPlace(index, shape) : index);
  const rows: Cell[][] = [];
  const labels: string[] = [];
  for (let row = 0; row < Math.min(height, mostRows); row++) {
    const cells = Array.from({ length: Math.min(width, mostColumns) }, (_, column) => placeOf(row * width + column))
      .map((place) => (place < read ? cellOf(get(place)) : { text: "…", none: true }));
    rows.push(cells);
    labels.push(shape.length < 2 ? "" : indexOf(row, shape.slice(0, -1)).join(", "));
  }
  return { shape, dtype: type.name, fortran, rows, labels, total, read, shown: rows.reduce((sum, row) => sum + row.length, 0), ...statistics(read, get) };
}

export const shapeWords = (shape: readonly number[]): string => (shape.length === 0 ? t("a single value") : shape.map(count).join(" × "));

interface Header {
  readonly descr: string;
  readonly fortran: boolean;
  readonly shape: readonly number[];
  /** Where the values begin. */
  readonly start: number;
}

async function headerOf(source: FileSource): Promise<Header> {
  const first = await source.read(0, 12);
  if (first.length < 12) throw damaged;
  const view = new DataView(first.buffer, first.byteOffset, first.byteLength);
  const old = view.getUint8(6) === 1;
  const [length, from] = old ? [view.getUint16(8, true), 10] : [view.getUint32(8, true), 12];
  if (length > largestHeader) throw new NoPreviewError(t("The header of the array has {length}, too much to read.", { length: bytes(length) }));
  const text = new TextDecoder("latin1").decode(await source.read(from, from + length));
  const descr = /'descr':\s*(?:'([^']*)'|(\[.*\]))/.exec(text);
  const order = /'fortran_order':\s*(True|False)/.exec(text)?.[1];
  const sides = /'shape':\s*\(([\d,\s]*)\)/.exec(text)?.[1];
  if (!descr || order === undefined || sides === undefined) throw damaged;
  const shape = sides.split(",").map((side) => side.trim()).filter(Boolean).map(Number);
  return { descr: descr[1] ?? descr[2] ?? "", fortran: order === "True", shape, start: from + length };
}

const damaged = new NoPreviewError(t("The file is damaged: its header is not that of an array."));

interface Element {
  readonly name: string;
  readonly size: number;
  readonly get: (view: DataView, at: number) => unknown;
}

/** How to read an element of a type; undefined if that is not known. */
function elementOf(descr: string): Element | undefined {
  const parts = /^([<>|=])([a-zA-Z])(\d+)$/.exec(descr);
  if (!parts) return undefined;
  const little = parts[1] !== ">";
  const size = Number(parts[3]);
  const bits = size * 8;
  switch (`${parts[2]}${size}`) {
    case "b1":
      return { name: "bool", size, get: (view, at) => view.getUint8(at) !== 0 };
    case "i1":
      return { name: "int8", size, get: (view, at) => view.getInt8(at) };
    case "u1":
      return { name: "uint8", size, get: (view, at) => view.getUint8(at) };
    case "i2":
      return { name: "int16", size, get: (view, at) => view.getInt16(at, little) };
    case "u2":
      return { name: "uint16", size, get: (view, at) => view.getUint16(at, little) };
    case "i4":
      return { name: "int32", size, get: (view, at) => view.getInt32(at, little) };
    case "u4":
      return { name: "uint32", size, get: (view, at) => view.getUint32(at, little) };
    case "i8":
      return { name: "int64", size, get: (view, at) => view.getBigInt64(at, little) };
    case "u8":
      return { name: "uint64", size, get: (view, at) => view.getBigUint64(at, little) };
    case "f2":
      return { name: "float16", size, get: (view, at) => half(view.getUint16(at, little)) };
    case "f4":
      return { name: "float32", size, get: (view, at) => Number(view.getFloat32(at, little).toPrecision(8)) };
    case "f8":
      return { name: "float64", size, get: (view, at) => view.getFloat64(at, little) };
    case "c8":
    case "c16":
      return { name: `complex${bits}`, size, get: (view, at) => complex(view, at, size, little) };
    default:
  }
  if (parts[2] === "U") return { name: `str${size}`, size: size * 4, get: (view, at) => text32(view, at, size, little) };
  if (parts[2] === "S") return { name: `bytes${size}`, size, get: (view, at) => latin(view, at, size) };
  return undefined;
}

function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function complex(view: DataView, at: number, size: number, little: boolean): string {
  const [real, imaginary] =
    size === 8 ? [view.getFloat32(at, little), view.getFloat32(at + 4, little)] : [view.getFloat64(at, little), view.getFloat64(at + 8, little)];
  return `${real}${imaginary < 0 ? "-" : "+"}${Math.abs(imaginary)}j`;
}

function text32(view: DataView, at: number, length: number, little: boolean): string {
  let text = "";
  for (let index = 0; index < length; index++) {
    const code = view.getUint32(at + index * 4, little);
    if (code > 0 && code <= 0x10ffff) text += String.fromCodePoint(code);
  }
  return text;
}

function latin(view: DataView, at: number, length: number): string {
  return new TextDecoder("latin1").decode(new Uint8Array(view.buffer, view.byteOffset + at, length)).replace(/\0+$/, "");
}

/** The indices of a position in C order. */
function indexOf(position: number, shape: readonly number[]): number[] {
  const indices: number[] = [];
  let rest = position;
  for (const side of shape.toReversed()) {
    indices.unshift(rest % side);
    rest = Math.floor(rest / side);
  }
  return indices;
}

function fortranPlace(position: number, shape: readonly number[]): number {
  let place = 0;
  let stride = 1;
  indexOf(position, shape).forEach((index, axis) => {
    place += index * stride;
    stride *= shape[axis] ?? 1;
  });
  return place;
}

function statistics(read: number, get: (at: number) => unknown): Pick<ArrayData, "min" | "max" | "mean"> {
  let [low, high, sum, numbers] = [Infinity, -Infinity, 0, 0];
  for (let at = 0; at < read; at++) {
    const value = get(at);
    if (typeof value !== "number" && typeof value !== "bigint") return { min: undefined, max: undefined, mean: undefined };
    const number = Number(value);
    if (Number.isNaN(number)) continue;
    low = Math.min(low, number);
    high = Math.max(high, number);
    sum += number;
    numbers++;
  }
  if (numbers === 0) return { min: undefined, max: undefined, mean: undefined };
  return { min: String(low), max: String(high), mean: String(Number((sum / numbers).toPrecision(6))) };
}
