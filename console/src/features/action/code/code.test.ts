import { expect, test } from "vitest";
import { functionRange } from "./function-range";
import { rowsOf } from "./tree";

const file = (path: string) => ({ path, size: 1n });
const shown = (paths: readonly string[], closed: readonly string[] = []) =>
  rowsOf(paths.map(file), (folder) => !closed.includes(folder)).map(
    (row) => `${"  ".repeat(row.level - 1)}${row.name}${row.open === undefined ? "" : row.open ? " -" : " +"}`,
  );

test("folders come before files, each by name as people count", () => {
  expect(shown(["b.py", "a10.py", "a2.py", "pkg/z.py", "pkg/__init__.py"])).toEqual(["pkg -", "  __init__.py", "  z.py", "a2.py", "a10.py", "b.py"]);
});

test("a closed folder hides what is in it", () => {
  expect(shown(["pkg/a.py", "pkg/sub/b.py", "c.py"], ["pkg"])).toEqual(["pkg +", "c.py"]);
  expect(shown(["pkg/a.py", "pkg/sub/b.py"], ["pkg/sub"])).toEqual(["pkg -", "  sub +", "  a.py"]);
});

test("folders with nothing but a folder share a row", () => {
  expect(shown(["src/app/flows/a.py", "src/app/flows/b.py", "c.py"])).toEqual(["src/app/flows -", "  a.py", "  b.py", "c.py"]);
  expect(shown(["src/app/a.py"], ["src/app"])).toEqual(["src/app +"]);
});

const code = `import flyte

env = flyte.TaskEnvironment("e")

@env.task(
    cache="auto",
)
@other
async def main(
    x: int,
) -> int:
    y = 1

    return x


after = 1
`.split("\n");

test("a function has its decorators, its signature over several lines and its body", () => {
  expect(functionRange(code, 9)).toEqual([5, 14]);
});

test("what is assigned is its line, and what is indented below", () => {
  expect(functionRange(code, 3)).toEqual([3, 3]);
  expect(functionRange(["f = env.task(", "    run,", ")", "g = 1"], 1)).toEqual([1, 3]);
});

test("a method ends with its class's next, and a line that is not there is itself", () => {
  expect(functionRange(["class A:", "    @x", "    def f(self):", "        pass", "    def g(self): ..."], 3)).toEqual([2, 4]);
  expect(functionRange(["a"], 9)).toEqual([9, 9]);
});
