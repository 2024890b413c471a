import { expect, it } from "vitest";
import { decodeUtf8 } from "./text-encoding";

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const encoded = (text: string): Uint8Array => new TextEncoder().encode(text);

it.each([
  ["nothing", bytes()],
  ["a name", encoded("a0-shard-7")],
  ["all of ASCII", Uint8Array.from({ length: 64 }, (_, at) => at * 2)],
  ["the longest short text", encoded("x".repeat(64))],
  ["a longer text", encoded("x".repeat(65))],
  ["letters outside ASCII", encoded("größe 東京 🚀")],
  ["a byte order mark", bytes(0xef, 0xbb, 0xbf, 0x61)],
  ["bytes that are no text", bytes(0x61, 0x80, 0x62)],
  ["half a letter at the end", bytes(0x61, 0xe6, 0x9d)],
])("decodes %s as the browser does", (_, given) => {
  expect(decodeUtf8(given)).toBe(new TextDecoder().decode(given));
});

it("refuses wrong bytes where it must be strict", () => {
  expect(() => decodeUtf8(bytes(0x61, 0x80), true)).toThrow(TypeError);
  expect(decodeUtf8(encoded("größe"), true)).toBe("größe");
});
