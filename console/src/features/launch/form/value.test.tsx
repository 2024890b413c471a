import { act, fireEvent, render, screen } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { useState } from "react";
import { expect, it, vi } from "vitest";
import { unset, type Draft } from "./draft";
import type { Field } from "./field";
import { upload } from "./upload";
import { ValueEditor } from "./value";

vi.mock("./upload", () => ({ upload: vi.fn() }));

const part = (name: string, field: Field) => ({ name, about: "", required: true, field, initial: undefined });
const file: Field = { kind: "file", folder: false, format: "" };
const integer: Field = { kind: "integer" };
const field: Field = {
  kind: "struct",
  title: "Order",
  parts: [
    part("files", { kind: "list", item: file }),
    part("sizes", { kind: "map", value: integer }),
    part("either", { kind: "choice", variants: [{ title: "File", field: file, at: 0 }] }),
    part("n", integer),
  ],
};
const stored = (uri: string): Draft => ({ kind: "stored", uri, format: "" });

function Form({ first, last }: { readonly first: Draft; readonly last: (draft: Draft) => void }) {
  const [draft, setDraft] = useState(first);
  last(draft);
  return (
    <Tooltip.Provider>
      <ValueEditor field={field} draft={draft} path="order" label="order" onChange={setDraft} />
    </Tooltip.Provider>
  );
}

it("keeps what is typed in the moment at which uploads end, and puts them where they belong by then", async () => {
  const ends: ((address: string) => void)[] = [];
  vi.mocked(upload).mockImplementation(() => new Promise((resolve) => ends.push(resolve)));
  const last = vi.fn<(draft: Draft) => void>();
  const first: Draft = {
    kind: "struct",
    parts: {
      files: { kind: "list", items: [stored("s3://first"), stored("s3://second")] },
      sizes: { kind: "map", entries: [["a", { kind: "text", text: "1" }]] },
      either: { kind: "variant", variant: 0, value: unset },
      n: { kind: "text", text: "1" },
    },
  };
  const { container } = render(<Form first={first} last={last} />);
  const choosers = container.querySelectorAll("input[type=file]");
  expect(choosers).toHaveLength(3);
  for (const chooser of [choosers[1], choosers[2]]) if (chooser) fireEvent.change(chooser, { target: { files: [new File(["x"], "x.txt")] } });
  fireEvent.click(screen.getByRole("button", { name: "Remove item 1" }));
  const typed = [
    [screen.getByLabelText("n"), "2"],
    [screen.getByLabelText("Key 1"), "b"],
    [screen.getByLabelText("Value of a"), "3"],
  ] as const;
  // Nothing is drawn between the ends and what is typed: all see the same form.
  await act(async () => {
    for (const end of ends) end("s3://uploaded");
    await Promise.resolve();
    for (const [input, value] of typed) fireEvent.change(input, { target: { value } });
  });
  expect(last.mock.lastCall?.[0]).toEqual({
    kind: "struct",
    parts: {
      files: { kind: "list", items: [stored("s3://uploaded")] },
      sizes: { kind: "map", entries: [["b", { kind: "text", text: "3" }]] },
      either: { kind: "variant", variant: 0, value: stored("s3://uploaded") },
      n: { kind: "text", text: "2" },
    },
  });
});
