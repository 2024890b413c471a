import { expect, it, vi } from "vitest";
import { Layout, Scale, maxHeight } from "./layout";
import { Level } from "./level";
import { LogSearch, patternOf } from "./log-search";
import { LogStore } from "./log-store";

const filled = (...lines: string[]): LogStore => {
  const store = new LogStore();
  store.add(
    "pod/main",
    lines.map((message, at) => ({ at: 1000 + at, message: `${message}\n` })),
  );
  return store;
};

const found = (store: LogStore, wanted: Partial<ConstructorParameters<typeof LogSearch>[1]>) => {
  const search = new LogSearch(store, { pattern: undefined, level: Level.None, only: false, ...wanted });
  while (search.scanned < store.size) search.step();
  return search;
};
const list = (search: LogSearch) => Array.from({ length: search.matches.size }, (_, at) => search.matches.get(at));

it("keeps lines with their times and levels, and tells once for a batch", () => {
  const store = new LogStore();
  const listener = vi.fn();
  store.subscribe(listener);
  store.add("p/c", [
    { at: 5, message: "INFO a\n" },
    { at: undefined, message: "ERROR b\n" },
    { at: 7, message: "  at line 1\n" },
  ]);
  expect(listener).toHaveBeenCalledOnce();
  expect([store.size, store.text(1), store.at(0), store.at(1), store.firstError, store.received("p/c"), store.received("q/c")]).toEqual([
    3,
    "ERROR b",
    5,
    undefined,
    1,
    3,
    0,
  ]);
  expect([0, 1, 2].map((line) => store.level(line))).toEqual([Level.Info, Level.Error, Level.Error]);
});

it("takes no more than fits", () => {
  const store = new LogStore({ lines: 2, characters: 1000 });
  store.add(
    "",
    ["a", "b", "c"].map((message) => ({ at: 0, message })),
  );
  expect([store.size, store.full]).toEqual([2, true]);
});

it("gives all lines as a file, without colours", async () => {
  expect(await filled("a", "\u001b[31mb\u001b[0m").file().text()).toBe("a\nb\n");
});

it("finds by text and by pattern, and says what is wrong with one", () => {
  const store = filled("alpha", "beta (1)", "ALPHA", "gamma");
  expect(list(found(store, { pattern: patternOf("alpha", false, false).pattern }))).toEqual([0, 2]);
  expect(list(found(store, { pattern: patternOf("alpha", false, true).pattern }))).toEqual([0]);
  expect(list(found(store, { pattern: patternOf("(1)", false, false).pattern }))).toEqual([1]);
  expect(list(found(store, { pattern: patternOf("^(b|g)", true, false).pattern }))).toEqual([1, 3]);
  expect(patternOf("(", true, false).error).toBeDefined();
});

it("shows only what is asked for, and finds the place of a line", () => {
  const search = found(filled("INFO x", "ERROR y", "INFO y", "WARN x"), { level: Level.Warning });
  expect([search.size, search.line(0), search.line(1)]).toEqual([2, 1, 3]);
  expect([search.placeOf(2), search.placeOf(3), search.placeOf(0)]).toEqual([0, 1, 0]);
  expect(found(filled("a", "b"), { pattern: /b/, only: true }).line(0)).toBe(1);
  expect(found(filled("a", "b"), { pattern: /b/ }).size).toBe(2);
});

it("goes on with lines that come later", async () => {
  const store = filled("a");
  const search = new LogSearch(store, { pattern: /x/, level: Level.None, only: false });
  const control = new AbortController();
  const running = search.run(control.signal);
  await vi.waitFor(() => expect(search.scanned).toBe(1));
  store.add("pod/main", [{ at: 1, message: "x" }]);
  await vi.waitFor(() => expect(list(search)).toEqual([1]));
  control.abort();
  await running;
});

it("knows where wrapped lines lie, also those that come later", () => {
  const store = filled("12345678901", "", "123");
  const layout = new Layout(store, found(store, {}), 5);
  expect(layout.rows()).toBe(5);
  expect([layout.top(1), layout.placeAt(0), layout.placeAt(2), layout.placeAt(3), layout.placeAt(4)]).toEqual([3, 0, 0, 1, 2]);
  store.add("pod/main", [{ at: 1, message: "123456" }]);
  expect([layout.rows(), layout.top(3)]).toEqual([7, 5]);
});

it("counts wide characters and tabs", () => {
  const store = filled("日本", "a\tb");
  expect([store.width(0), store.width(1)]).toEqual([4, 10]);
});

it("stretches what is higher than browsers can draw, so that its ends stay within reach", () => {
  const scale = new Scale(18_000_000, 500);
  expect(scale.height).toBe(maxHeight);
  expect(scale.toLog(maxHeight - 500)).toBeCloseTo(18_000_000 - 500);
  expect(scale.toLog(scale.toScroll(9_000_000))).toBeCloseTo(9_000_000);
  expect(new Scale(1000, 500).toLog(123)).toBe(123);
});
