import { describe, expect, it } from "vitest";
import { fixture, over } from "./fixtures";
import { parseJson } from "./json";
import { openFile } from "./open";
import { json } from "@/entities/value/write-json";

const text = (name: string, content: string, size?: number) => openFile(over(name, new TextEncoder().encode(content), size).source, "");

describe("files", () => {
  it.each([
    ["table-snappy.parquet", "table"],
    ["matrix.npy", "array"],
    ["arrays-stored.npz.gz", "arrays"],
    ["image.png", "image"],
    ["image.webp", "image"],
    ["sound.wav", "audio"],
    ["notebook.ipynb", "notebook"],
    ["make.py", "text"],
  ])("are opened: %s is a %s", async (name, show) => {
    expect((await openFile(fixture(name).source, "")).show).toBe(show);
  });

  it("gives the beginning of a long text", async () => {
    const opened = await text("x.txt", "ü".repeat(1 << 20));
    expect(opened).toMatchObject({ show: "text", part: 256 << 10 });
    expect(opened.show === "text" && opened.text.replaceAll("ü", "")).toBe("");
  });

  it("shows JSON that is damaged or nested too deep as text", async () => {
    expect(await text("x.json", "{")).toMatchObject({ show: "text", text: "{" });
    expect((await text("x.json", "[".repeat(100_000) + "]".repeat(100_000))).show).toBe("text");
  });

  it.each([
    ["x.bin", "\0\0", undefined, "A binary file of an unknown type cannot be shown"],
    ["x.txt", "", undefined, "The file is empty"],
    ["x.html", "<p>", 9 << 20, "up to 8.0 MiB"],
    ["x.svg", "<svg/>", 3 << 20, "up to 2.0 MiB"],
    ["x.zip", "PK\x03\x04", undefined, "A ZIP archive cannot be shown. Download it"],
  ])("says why it does not show %s", async (name, content, size, words) => {
    await expect(text(name, content, size)).rejects.toThrow(words);
  });

  it("does not draw an image whose header claims billions of pixels", async () => {
    await expect(openFile(fixture("bomb.png").source, "")).rejects.toThrow("3600 megapixels");
  });
});

it("JSON keeps its order, odd names and digits", () => {
  expect(json(parseJson('{"b": 1, "a": [null, true, "x"], "__proto__": {"f": 1.5}}'), 0)).toBe('{"b":1,"a":[null,true,"x"],"__proto__":{"f":1.5}}');
});
