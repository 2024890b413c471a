import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { LiteralSchema, type Literal } from "@gen/flyteidl2/core/literals_pb.js";
import { BlobType_BlobDimensionality, LiteralTypeSchema, SimpleType } from "@gen/flyteidl2/core/types_pb.js";
import { typeWords } from "./type-words";
import { valueOf } from "./value";
import type { Value } from "./value-type";
import { json } from "./write-json";
import { python, pythonText } from "./write-python";

type Init = Parameters<typeof create<typeof LiteralSchema>>[1];
type ScalarInit = Extract<NonNullable<NonNullable<Init>["value"]>, { case?: "scalar" }>["value"];

const literal = (init: Init): Literal => create(LiteralSchema, init);
const scalar = (value: ScalarInit): Literal => literal({ value: { case: "scalar", value } as never });
const primitive = (value: unknown): Literal => scalar({ value: { case: "primitive", value: { value } } } as never);
const packed = (base64: string): Literal =>
  scalar({ value: { case: "binary", value: { value: Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)), tag: "msgpack" } } } as never);
const text = (value: string): Value => ({ kind: "text", text: value });

describe("literals", () => {
  it.each<[string, Literal, Value]>([
    ["large integers", primitive({ case: "integer", value: 9007199254740993n }), { kind: "number", digits: "9007199254740993", whole: true }],
    ["whole floats", primitive({ case: "floatValue", value: 2 }), { kind: "number", digits: "2.0", whole: false }],
    ["floats", primitive({ case: "floatValue", value: 0.1 }), { kind: "number", digits: "0.1", whole: false }],
    ["what is not a number", primitive({ case: "floatValue", value: Number.NaN }), { kind: "number", digits: "NaN", whole: false }],
    ["booleans", primitive({ case: "boolean", value: false }), { kind: "boolean", value: false }],
    ["texts", primitive({ case: "stringValue", value: "x" }), text("x")],
    [
      "moments, to the microsecond",
      primitive({ case: "datetime", value: { seconds: 1_767_225_600n, nanos: 123_456_000 } }),
      { kind: "time", at: new Date("2026-01-01T00:00:00.123Z"), iso: "2026-01-01T00:00:00.123456Z" },
    ],
    ["durations", primitive({ case: "duration", value: { seconds: 90n, nanos: 500_000_000 } }), { kind: "duration", seconds: 90.5 }],
    ["nothing", scalar({ value: { case: "noneType", value: {} } } as never), { kind: "none" }],
    ["an unset value", literal({}), { kind: "none" }],
  ])("%s", (_, given, value) => expect(valueOf(given)).toEqual(value));

  it("looks into unions, lists and maps", () => {
    const union = scalar({ value: { case: "union", value: { value: primitive({ case: "integer", value: 3n }) } } } as never);
    const list = literal({ value: { case: "collection", value: { literals: [union] } } });
    const map = literal({ value: { case: "map", value: { literals: { a: list } } } });
    expect(json(valueOf(map), 0)).toBe('{"a":[3]}');
  });

  it("tells files, directories, pickles and tables apart", () => {
    const blob = (format: string, dimensionality: BlobType_BlobDimensionality) =>
      valueOf(scalar({ value: { case: "blob", value: { uri: "s3://b/x", metadata: { type: { format, dimensionality } } } } } as never));
    expect(blob("csv", BlobType_BlobDimensionality.SINGLE)).toEqual({ kind: "stored", what: "file", uri: "s3://b/x", format: "csv" });
    expect(blob("", BlobType_BlobDimensionality.MULTIPART)).toMatchObject({ what: "directory" });
    expect(blob("PythonPickle", BlobType_BlobDimensionality.SINGLE)).toMatchObject({ what: "pickle" });
    const table = valueOf(
      scalar({
        value: { case: "structuredDataset", value: { uri: "s3://b/t", metadata: { structuredDatasetType: { format: "parquet", columns: [{ name: "n" }] } } } },
      } as never),
    );
    expect(table).toEqual({ kind: "stored", what: "dataframe", uri: "s3://b/t", format: "parquet", columns: ["n"] });
  });

  it("reads what clients pack", () => {
    // A dataclass with an integer, a list and a moment, as the client for Python sends it.
    const value = valueOf(packed("g6F4AaF5kaFhoXe6MjAyNi0xMS0yMVQwODoxNTozMS40NzM5MjM="));
    expect(json(value, 0)).toBe('{"x":1,"y":["a"],"w":"2026-11-21T08:15:31.473923"}');
    expect(value).toMatchObject({ kind: "map", struct: true });
  });

  it.each([
    ["/w==", "-1"],
    ["0YAA", "-32768"],
    ["z///////////", "18446744073709551615"],
    ["0//////////2", "-10"],
    ["yz+5mZmZmZma", "0.1"],
    ["wMA=", undefined], // two values
    ["kg==", undefined], // cut off
    ["wQ==", undefined], // no msgpack
    ["gQGhYQ==", '{"1":"a"}'],
    ["xAIBAg==", '"AQI="'],
  ])("packed %s is %s", (base64, expected) => {
    const value = valueOf(packed(base64));
    if (expected === undefined) expect(value).toMatchObject({ kind: "bytes", tag: "msgpack" });
    else expect(json(value, 0)).toBe(expected);
  });

  it("shows what cannot be decoded as bytes", () => {
    expect(valueOf(scalar({ value: { case: "binary", value: { value: new Uint8Array([1, 2]), tag: "" } } } as never))).toMatchObject({
      kind: "bytes",
      tag: "",
    });
  });
});

describe("writing", () => {
  const value: Value = {
    kind: "map",
    struct: true,
    entries: [
      ["a b", { kind: "list", items: [text('say "hi"\n'), { kind: "none" }] }],
      ["t", { kind: "time", at: new Date(0), iso: "1970-01-01T00:00:00Z" }],
      ["d", { kind: "duration", seconds: 1.5 }],
      ["f", { kind: "stored", what: "file", uri: "s3://b/x", format: "" }],
      ["n", { kind: "number", digits: "NaN", whole: false }],
      ["yes", { kind: "boolean", value: true }],
    ],
  };

  it("gives JSON that can be read", () => {
    expect(JSON.parse(json(value))).toEqual({ "a b": ['say "hi"\n', null], t: "1970-01-01T00:00:00Z", d: "1.5s", f: { uri: "s3://b/x" }, n: "NaN", yes: true });
    expect(json({ kind: "list", items: [] })).toBe("[]");
  });

  it("gives Python with its imports", () => {
    expect(python(value)).toEqual({
      imports: ["from datetime import datetime", "from datetime import timedelta", "from flyte.io import File"],
      source: [
        "{",
        '    "a b": ["say \\"hi\\"\\n", None],',
        '    "t": datetime.fromisoformat("1970-01-01T00:00:00+00:00"),',
        '    "d": timedelta(seconds=1.5),',
        '    "f": File.from_existing_remote("s3://b/x"),',
        '    "n": float("nan"),',
        '    "yes": True,',
        "}",
      ].join("\n"),
    });
  });

  it.each([
    ["a\\b", '"a\\\\b"'],
    ["\u0000\u001b", '"\\x00\\x1b"'],
    ["\u202e", '"\\u202e"'],
    ["ü😀", '"ü😀"'],
    ["{x}$'`", '"{x}$\'`"'],
  ])("quotes %j for Python", (given, quoted) => expect(pythonText(given)).toBe(quoted));
});

it("names types as Python does", () => {
  const simple = (value: SimpleType) => ({ type: { case: "simple", value } }) as const;
  const type = create(LiteralTypeSchema, {
    type: { case: "unionType", value: { variants: [{ type: { case: "collectionType", value: simple(SimpleType.INTEGER) } }, simple(SimpleType.NONE)] } },
  });
  expect(typeWords(type)).toBe("list[int] | None");
  expect(typeWords(create(LiteralTypeSchema, { ...simple(SimpleType.STRUCT), metadata: { title: "Point" } }))).toBe("Point");
  expect(typeWords(undefined)).toBe("");
});
