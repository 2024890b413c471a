import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { InputsSchema } from "@gen/flyteidl2/task/common_pb.js";
import { RunSpecSchema } from "@gen/flyteidl2/task/run_pb.js";
import { TaskSpecSchema } from "@gen/flyteidl2/task/task_definition_pb.js";
import { withStartTime, type Source } from "./source";

const source = (context: Record<string, string>, seconds?: number): Source => ({
  run: { project: "p", domain: "d", name: "r" },
  action: "a0",
  spec: create(TaskSpecSchema),
  runSpec: create(RunSpecSchema, seconds === undefined ? {} : { runStartTime: { seconds: BigInt(seconds) } }),
  inputs: create(InputsSchema, {
    literals: [{ name: "x", value: {} }],
    context: Object.entries(context).map(([key, value]) => ({ key, value })),
  }),
});

describe("the source of a form", () => {
  it("has the slot of a scheduled run as a value, which may be changed", () => {
    const { inputs } = withStartTime(source({ team: "data", _u_kickoff_time_input_arg: "at" }, 1767225600));
    expect(inputs?.context.map(({ key }) => key)).toEqual(["team"]);
    expect(inputs?.literals.map(({ name }) => name)).toEqual(["x", "at"]);
    const value = inputs?.literals[1]?.value?.value;
    const scalar = value?.case === "scalar" ? value.value.value : undefined;
    const primitive = scalar?.case === "primitive" ? scalar.value.value : undefined;
    expect(primitive?.case === "datetime" && primitive.value.seconds).toBe(1767225600n);
  });
  it("is as it was without a slot", () => {
    for (const one of [source({ team: "data" }, 1767225600), source({ _u_kickoff_time_input_arg: "at" })]) expect(withStartTime(one)).toBe(one);
  });
});
