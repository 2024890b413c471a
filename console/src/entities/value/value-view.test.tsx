import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Tooltip } from "radix-ui";
import { afterEach, expect, it } from "vitest";
import type { Value } from "./value-type";
import { ValueView } from "./value-view";

afterEach(cleanup);

const show = (value: Value) =>
  render(
    <Tooltip.Provider>
      <ValueView value={value} />
    </Tooltip.Provider>,
  );
const number = (digits: string): Value => ({ kind: "number", digits, whole: true });
const text = (value: string): Value => ({ kind: "text", text: value });

it.each<[Value, string]>([
  [number("1234567890123456789"), "1,234,567,890,123,456,789"],
  [{ kind: "number", digits: "0.50", whole: false }, "0.50"],
  [{ kind: "boolean", value: true }, "True"],
  [{ kind: "none" }, "None"],
  [text(""), "empty string"],
  [{ kind: "duration", seconds: 5400 }, "1 h 30 m"],
  [{ kind: "duration", seconds: -2 }, "minus 2.0 s"],
  [{ kind: "list", items: [number("1"), number("2")] }, "12"],
  [{ kind: "list", items: [] }, "empty list"],
  [{ kind: "bytes", bytes: new Uint8Array(2048), tag: "x" }, "2.0 KiB of binary data x"],
])("%j is shown as %s", (value, words) => expect(show(value).container.textContent).toBe(words));

it("folds what is long, and unfolds it", async () => {
  show({ kind: "list", items: Array.from({ length: 120 }, (_, at) => text(`item ${at}`)) });
  expect(screen.queryByText('"item 0"')).toBeNull();
  await userEvent.click(screen.getByText("120 items"));
  expect(await screen.findByText('"item 49"')).toBeDefined();
  expect(screen.queryByText('"item 50"')).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: /Show more/ }));
  expect(screen.getByText('"item 119"')).toBeDefined();
});

it("shows fields by name, and long texts in part", async () => {
  show({ kind: "map", struct: true, entries: [["story", text("long ".repeat(500))]] });
  expect(screen.getByText("story")).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Show all 2,500 characters" }));
  expect(screen.queryByRole("button", { name: /characters/ })).toBeNull();
});

it("shows where files are, and takes markup as text", () => {
  const { container } = show({ kind: "map", struct: false, entries: [["f", { kind: "stored", what: "file", uri: "s3://b/<img>", format: "csv" }]] });
  expect(container.textContent).toContain("File csv");
  expect(screen.getByText("s3://b/<img>")).toBeDefined();
  expect(container.querySelector("img")).toBeNull();
});
