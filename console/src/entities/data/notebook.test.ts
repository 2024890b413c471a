import { expect, it } from "vitest";
import { fixture } from "./fixtures";
import { notebookOf } from "./notebook";

it("reads cells and their outputs", async () => {
  const { source } = fixture("notebook.ipynb");
  const notebook = notebookOf(new TextDecoder().decode(await source.read(0, source.size)));
  expect(notebook).toMatchObject({ language: "python", total: 3 });
  expect(notebook.cells.map(({ kind, source: text, run }) => [kind, text, run])).toEqual([
    ["markdown", "# Title\nSome **bold** text", undefined],
    ["code", "print('hello')", 1],
    ["raw", "raw", undefined],
  ]);
  expect(notebook.cells[1]?.outputs).toEqual([
    { show: "text", text: "hello\n", wrong: false },
    { show: "image", url: expect.stringMatching(/^data:image\/png;base64,iVBOR/) as string },
    { show: "html", html: "<b>table</b>" },
    { show: "text", text: "KeyError: 'x'", wrong: true },
  ]);
});

it.each([
  ["no JSON", "{", "not JSON"],
  ["another format", '{"worksheets": []}', "no cells"],
  ["nothing", "null", "no cells"],
])("says what is wrong: %s", (_, json, words) => {
  expect(() => notebookOf(json)).toThrow(words);
});

it("takes anything in a cell", () => {
  const cells = [null, 1, { cell_type: "code", source: { a: 1 }, outputs: [null, { data: { "image/png": "x\" onerror=alert(1)" } }, { output_type: "error" }] }];
  const notebook = notebookOf(JSON.stringify({ cells }));
  expect(notebook.cells).toHaveLength(3);
  expect(notebook.cells[2]?.outputs.map(({ show }) => show)).toEqual(["nothing", "nothing", "text"]);
});
