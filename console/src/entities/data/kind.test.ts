import { expect, it } from "vitest";
import { fixture } from "./fixtures";
import { headLength, kindOf } from "./kind";

const bytes = (text: string) => new TextEncoder().encode(text);

it.each([
  ["image.png", { show: "image", type: "image/png" }],
  ["image.jpeg", { show: "image", type: "image/jpeg" }],
  ["image.gif", { show: "image", type: "image/gif" }],
  ["image.webp", { show: "image", type: "image/webp" }],
  ["sound.wav", { show: "audio", type: "audio/wav" }],
  ["matrix.npy", { show: "npy" }],
  ["table-zstd.parquet", { show: "parquet" }],
  ["notebook.ipynb", { show: "notebook" }],
  ["make.py", { show: "text" }],
])("knows what libraries write: %s", async (name, kind) => {
  const { source } = fixture(name);
  const head = await source.read(0, headLength);
  expect(kindOf(name, "", head)).toEqual(kind);
  if (kind.show !== "notebook") expect(kindOf("no-name", "", head)).toEqual(kind);
});

it.each([
  ["a.csv", "", "a,b\n", { show: "csv", delimiter: "," }],
  ["a.TSV", "", "a\tb\n", { show: "csv", delimiter: "\t" }],
  ["a.json", "", "{}", { show: "json" }],
  ["a.md", "", "# x", { show: "markdown" }],
  ["a.html", "", "<p>", { show: "html" }],
  ["a.svg", "", "<svg>", { show: "image", type: "image/svg+xml" }],
  ["00000", "csv", "a,b\n", { show: "csv", delimiter: "," }],
  ["00000", "text/html", "<p>", { show: "html" }],
  ["a.log", "", "line \u001b[31mred\u001b[0m", { show: "text" }],
  ["a.png", "", "<script>alert(1)</script>", { show: "text" }],
  ["a.constructor", "", "x", { show: "text" }],
])("takes texts by their names: %s %s", (name, format, text, kind) => {
  expect(kindOf(name, format, bytes(text))).toEqual(kind);
});

it("takes an archive for arrays by its name", () => {
  const head = Uint8Array.of(0x50, 0x4b, 3, 4, 0);
  expect(kindOf("a.npz", "", head)).toEqual({ show: "npz" });
  expect(kindOf("a.npz", "", bytes("PK"))).toEqual({ show: "text" });
});

it("does not trust the name of a binary file", () => {
  expect(kindOf("page.html", "html", Uint8Array.of(0, 1, 2))).toMatchObject({ show: "nothing" });
  expect(kindOf("page.html", "html", Uint8Array.of(0x50, 0x4b, 3, 4, 0))).toMatchObject({ what: "A ZIP archive" });
  expect(kindOf("a.txt", "", Uint8Array.of(0xff, 0xfe, 0x41))).toMatchObject({ show: "nothing" });
});

it("takes a text that is cut within a character for a text", () => {
  expect(kindOf("a", "", bytes("ü").subarray(0, 1))).toEqual({ show: "text" });
});
