import { expect, it } from "vitest";
import type { Value } from "@/entities/value/value-type";
import { asCommand, asProgram, type Wanted } from "./copy";
import { optionsOf } from "./options";

const place = { project: "p", domain: "d" };
const number: Value = { kind: "number", digits: "3", whole: true };
const struct: Value = { kind: "map", struct: true, entries: [["x", number]] };
const wanted: Wanted = {
  place,
  task: { case: "taskId", value: { ...place, name: "env.task", version: "v1" } },
  values: [
    ["n", number],
    ["colour", { kind: "text", text: "RED" }],
    ["config", struct],
  ],
  options: { ...optionsOf(undefined), name: "mine", env: [["A", "b c"]], queue: "gpu" },
  enums: new Set(["colour"]),
};

it("says a launch as a command, without what no command can say", () => {
  expect(asCommand(wanted).replaceAll(" \\\n ", "")).toBe(
    "flyte run --project p --domain d --name mine --env 'A=b c' --queue gpu deployed-task env.task:v1 --n 3 --config '{\"x\": 3}'".replace(
      '{"x": 3}',
      '{"x":3}',
    ),
  );
});

it("says a launch as a program, and what is left to be filled in", () => {
  const program = asProgram(wanted);
  expect(program).toContain('task = flyte.remote.Task.get("env.task", version="v1")');
  expect(program).toContain('run = flyte.with_runcontext(name="mine", env_vars={"A": "b c"}).run(\n    task,\n    n=3,\n    colour="RED",\n)');
  expect(program).toContain("# Fill in, with your own classes: config");
});

it("says a rerun by the run", () => {
  const source = { run: { ...place, name: "r1" }, action: "a0", spec: undefined as never, runSpec: undefined, inputs: undefined };
  expect(asCommand({ ...wanted, source })).toContain("flyte rerun");
  expect(asProgram({ ...wanted, source })).toContain('flyte.rerun(\n    "r1",\n    n=3,');
});
