import { cleanup, fireEvent, render, screen, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, expect, it, vi } from "vitest";
import { DataTable, type Answer } from "./data-table";
import { Empty } from "./notice";
import { Note, type Column } from "./table";
import { asCsv, asJson, asMarkdown, textOf } from "./table-text";

afterEach(cleanup);

interface Task {
  readonly name: string;
  readonly ms?: number;
}

const tasks: readonly Task[] = [{ name: "b", ms: 20 }, { name: "c" }, { name: "a10", ms: 5 }, { name: "a9", ms: 100 }];
const columns: readonly Column<Task>[] = [
  {
    label: "Task",
    cell: ({ name }) => (
      <>
        <a href={`/${name}`}>{name}</a>
        <Note>about {name}</Note>
      </>
    ),
    sortBy: ({ name }) => name,
  },
  { label: "Time", number: true, cell: ({ ms }) => ms ?? "–", sortBy: ({ ms }) => ms, descending: true },
  { label: "Launch", hideLabel: true, cell: () => <button>Launch</button> },
];
const done: Answer = { error: null, isLoading: false, isSuccess: true, refetch: () => undefined };

const draw = (answer: Answer, rows: readonly Task[], more: object = {}) =>
  render(
    <Tooltip.Provider>
      <DataTable what="tasks" label="Tasks" answer={answer} rows={rows} keyOf={({ name }) => name} columns={columns} empty={<Empty title="No tasks" />} {...more} />
    </Tooltip.Provider>,
  );

const names = (): string[] =>
  screen
    .getAllByRole("row")
    .slice(1)
    .map((row) => within(row).getByRole("link").textContent);

it("sorts by a column, in both directions, with rows without a value last", () => {
  draw(done, tasks);
  expect(names()).toEqual(["b", "c", "a10", "a9"]);
  fireEvent.click(screen.getByRole("button", { name: "Time" }));
  expect(names()).toEqual(["a9", "b", "a10", "c"]);
  expect(screen.getByRole("columnheader", { name: "Time" }).getAttribute("aria-sort")).toBe("descending");
  fireEvent.click(screen.getByRole("button", { name: "Time" }));
  expect(names()).toEqual(["a10", "b", "a9", "c"]);
  fireEvent.click(screen.getByRole("button", { name: "Task" }));
  expect(names()).toEqual(["a9", "a10", "b", "c"]);
});

it("does not sort a list of which pages are missing", () => {
  draw({ ...done, hasNextPage: true }, tasks);
  expect(screen.queryByRole("button", { name: "Time" })).toBeNull();
  expect(screen.getByRole("button", { name: "More tasks" })).toBeTruthy();
});

it("leaves the order to the owner of the list", () => {
  const onSort = vi.fn();
  const sorted = columns.map((column) => ({ ...column, ...(column.label === "Time" && { order: "time" }) }));
  draw(done, tasks, { columns: sorted, sort: { by: "time", descending: true }, onSort });
  expect(screen.queryByRole("button", { name: "Task" })).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "Time" }));
  expect(onSort).toHaveBeenCalledWith({ by: "time", descending: false });
  expect(names()).toEqual(["b", "c", "a10", "a9"]);
});

it("says that it loads, failed, or is empty", () => {
  draw({ ...done, isLoading: true, isSuccess: false }, []);
  expect(screen.getByText("Loading tasks …")).toBeTruthy();
  cleanup();
  draw(done, []);
  expect(screen.getByText("No tasks")).toBeTruthy();
  cleanup();
  draw({ ...done, isSuccess: false, error: new Error("no") }, []);
  expect(screen.getByRole("alert")).toBeTruthy();
});

it("goes from row to row with the arrow keys, and with j and k", () => {
  draw(done, tasks, { keys: true });
  const press = (key: string) => fireEvent.keyDown(document.activeElement ?? document.body, { key });
  press("j");
  expect(document.activeElement?.textContent).toBe("b");
  press("ArrowDown");
  expect(document.activeElement?.textContent).toBe("c");
  press("k");
  expect(document.activeElement?.textContent).toBe("b");
  press("ArrowUp");
  expect(document.activeElement?.textContent).toBe("b");
});

it("copies what it shows", () => {
  const at = new Date("2026-01-02T03:04:05Z");
  render(
    <table>
      <thead>
        <tr>
          <th>Task</th>
          <th>When</th>
          <th>
            <span className="visually-hidden">Launch</span>
          </th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <th>
            a, “b” | <Note>of c</Note>
          </th>
          <td>
            <time dateTime={at.toISOString()}>3 m ago</time> <span data-text="4 of 5">drawn</span>
          </td>
          <td>
            <button>Launch</button>
          </td>
        </tr>
        <tr>
          <th>=1+1</th>
          <td>-2 %</td>
          <td />
        </tr>
      </tbody>
    </table>,
  );
  const text = textOf(screen.getByRole("table"));
  expect(asCsv(text)).toBe("Task,When\n\"a, “b” | of c\",2026-01-02T03:04:05.000Z 4 of 5\n'=1+1,-2 %\n");
  expect(asMarkdown(text)).toBe("| Task | When |\n| --- | --- |\n| a, “b” \\| of c | 2026-01-02T03:04:05.000Z 4 of 5 |\n| =1+1 | -2 % |\n");
  expect(JSON.parse(asJson(text))).toEqual([
    { Task: "a, “b” | of c", When: "2026-01-02T03:04:05.000Z 4 of 5" },
    { Task: "=1+1", When: "-2 %" },
  ]);
});
