import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ActionDescriptionSchema, InputKind, InputTextSchema, type InputText } from "@gen/flytebinary/insight/v1/run_actions_pb.js";
import { modelOf, type Made } from "@/entities/run/model/run-model.fixture";
import type { RunModel } from "@/entities/run/model/run-model";
import { identityOf, nameOf } from "./identity";
import { matchesTerm, termsOf } from "./terms";

const { TEXT, STORED, UNSPECIFIED } = InputKind;
const input = (name: string, value: string, kind: InputKind = UNSPECIFIED): InputText => create(InputTextSchema, { name, value, kind });

/** A model whose server knows these inputs, by the names of the actions. */
function given(actions: readonly Made[], inputs: Readonly<Record<string, readonly InputText[]>>) {
  const model = modelOf(actions);
  const asked: number[][] = [];
  model.inputs.ask = (numbers) => {
    asked.push(numbers);
    return Promise.resolve(numbers.map((number) => create(ActionDescriptionSchema, { number, inputs: [...(inputs[model.name(number)] ?? [])] })));
  };
  return { model, asked };
}

const map = (count: number, title = "score", parent = "a0"): Made[] => Array.from({ length: count }, (_, at) => ({ name: `${title}${at}`, parent, title }));
const root: Made = { name: "a0", title: "main" };
const names = (model: RunModel) => Array.from({ length: model.size }, (_, row) => nameOf(model, row));

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Shows rows until the server has answered everything. */
async function show(model: RunModel, rows: readonly number[]): Promise<void> {
  model.inputs.want("test", rows);
  await vi.advanceTimersByTimeAsync(5000);
}

describe("the identity of an action", () => {
  it("is its position and the inputs in which it differs from its siblings", async () => {
    const same = input("model", "large", TEXT);
    const { model } = given([root, ...map(3), { name: "alone", parent: "a0", title: "join" }], {
      score0: [input("region", "emea", TEXT), same, input("depth", "10")],
      score1: [input("region", "apac", TEXT), same, input("depth", "10")],
      score2: [input("region", "emea", TEXT), same, input("depth", "12")],
      alone: [input("depth", "1")],
    });
    expect(names(model)).toEqual(["main", "score #0", "score #1", "score #2", "join"]);
    await show(model, [0, 1, 2, 3, 4]);
    expect(names(model)).toEqual(["main", "score · emea, depth 10", "score · apac, depth 10", "score · emea, depth 12", "join"]);
    expect(identityOf(model, 1)).toEqual({ title: "score", place: "", inputs: "emea, depth 10" });
  });

  it("counts each group and each parent on its own", () => {
    const model = modelOf([
      root,
      { name: "x", parent: "a0", title: "fold", group: "one" },
      { name: "y", parent: "a0", title: "fold", group: "two" },
      { name: "z", parent: "a0", title: "fold", group: "one" },
      { name: "x1", parent: "x", title: "fold" },
      { name: "x2", parent: "x", title: "fold" },
    ]);
    expect(names(model)).toEqual(["main", "fold #0", "fold", "fold #1", "fold #0", "fold #1"]);
  });

  it("has few, short values, and says which text is which", async () => {
    const inputs = (at: number) => [
      input("from", `s3://bucket/of/many/words/part-${at}.csv`, TEXT),
      input("to", `end ${at}`, TEXT),
      input("empty", at === 0 ? "" : "full", TEXT),
      input("fourth", String(at)),
    ];
    const { model } = given([root, ...map(2)], { score0: inputs(0), score1: inputs(1) });
    await show(model, [1, 2]);
    expect(nameOf(model, 1)).toBe('score · from s3://buck…y/words/part-0.csv, to end 0, empty ""');
    expect(nameOf(model, 2)).toBe("score · from s3://buck…y/words/part-1.csv, to end 1, empty full");
  });

  it("has what is stored only if nothing else differs", async () => {
    const { model } = given([root, ...map(2), ...map(2, "read")], {
      score0: [input("file", "a.csv", STORED), input("depth", "1")],
      score1: [input("file", "b.csv", STORED), input("depth", "2")],
      read0: [input("file", "a.csv", STORED)],
      read1: [input("file", "b.csv", STORED)],
    });
    await show(model, [1, 2, 3, 4]);
    expect(names(model).slice(1)).toEqual(["score · depth 1", "score · depth 2", "read · a.csv", "read · b.csv"]);
  });

  it("compares a visible action with the first ones of its siblings, and asks once", async () => {
    const { model, asked } = given([root, ...map(5000)], Object.fromEntries(map(5000).map(({ name }, at) => [name, [input("shard", String(at))]])));
    await show(model, [4000]);
    expect(nameOf(model, 4000)).toBe("score · shard 3999");
    expect(asked).toHaveLength(1);
    expect(asked[0]).toHaveLength(101);
    await show(model, [4000, 1]);
    expect(asked).toHaveLength(1);
  });

  it("is the position where the server refuses, which is not asked again", async () => {
    const { model } = given([root, ...map(2)], {});
    const ask = vi.fn(() => Promise.reject(new ConnectError("no", Code.PermissionDenied)));
    model.inputs.ask = ask;
    await show(model, [1, 2]);
    await show(model, [2]);
    expect(ask).toHaveBeenCalledTimes(1);
    expect(names(model)).toEqual(["main", "score #0", "score #1"]);
    expect(model.inputs.partial).toBe(true);
  });
});

describe("a filter", () => {
  const actions = [root, ...map(20), { name: "n7", parent: "a0", title: "train", group: "seven" }];
  const inputs = { ...Object.fromEntries(map(20).map(({ name }, at) => [name, [input("shard", String(at)), input("config.region", at % 2 ? "EMEA north" : "apac", TEXT)]])) };
  const found = (model: RunModel, typed: string) =>
    Array.from({ length: model.size }, (_, row) => row).filter((row) => termsOf(typed).every((term) => matchesTerm(model, row, term)));

  it.each([
    ["shard:7", [8]],
    ["SHARD:7", [8]],
    ["#7", [8]],
    ["region:emea shard:3", [4]],
    ["config.region:apac shard:2", [3]],
    ['region:"emea north" #1', [2]],
    ["shard:no", []],
    ["seven", [21]],
    ["train", [21]],
    ["7", [8, 18, 21]], // a part of two names, and the whole of a value
    ["emea #5", [6]],
    ["shard:", []],
  ])("finds %s", async (typed, rows) => {
    const { model } = given(actions, inputs);
    model.inputs.search("test", true);
    await vi.advanceTimersByTimeAsync(5000);
    expect(model.inputs.unread).toBe(0);
    expect(found(model, typed)).toEqual(rows);
  });

  it("reads the inputs of all actions, in parts", async () => {
    const { model, asked } = given([root, ...map(1200)], {});
    expect(model.inputs.unread).toBe(1201);
    model.inputs.search("test", true);
    await vi.advanceTimersByTimeAsync(5000);
    expect(asked.map((numbers) => numbers.length)).toEqual([500, 500, 201]);
    expect(model.inputs.unread).toBe(0);
  });
});
