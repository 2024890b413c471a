import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import { RunSchema, RunSource, type Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { joined, orderOf } from "./merge";
import { keyOf, nameOf, namesOf } from "@/entities/run/listed";

const run = (name: string, minute: number, tracked = false): Run =>
  create(RunSchema, {
    action: {
      id: { run: { project: "p", domain: "d", name }, name: "a0" },
      metadata: { source: tracked ? RunSource.TRACKED : RunSource.CLI },
      status: { startTime: timestampFromMs(minute * 60_000), durationMs: BigInt(minute) },
    },
  });

const names = (runs: readonly Run[]) => runs.map(nameOf).join(" ");

it("puts both kinds into one order", () => {
  const own = { runs: [run("d", 40), run("b", 20)], more: false };
  const tracked = { runs: [run("c", 30, true), run("a", 10, true)], more: false };
  expect(names(joined(own, tracked, orderOf.newest))).toBe("d c b a");
  const back = { runs: [...own.runs].reverse(), more: false };
  expect(names(joined(back, { runs: [...tracked.runs].reverse(), more: false }, orderOf.oldest))).toBe("a b c d");
  expect(names(joined(own, tracked, orderOf.longest))).toBe("d c b a");
});

it("leaves out what runs that are not loaded may precede", () => {
  const own = { runs: [run("d", 40), run("b", 20)], more: true };
  const tracked = { runs: [run("c", 30, true), run("a", 10, true)], more: false };
  expect(names(joined(own, tracked, orderOf.newest))).toBe("d c b");
  expect(names(joined(own, { ...tracked, more: true }, orderOf.newest))).toBe("d c b");
  expect(names(joined({ ...own, more: false }, { ...tracked, more: true }, orderOf.newest))).toBe("d c b a");
});

it("leaves a list alone when the other kind has no runs", () => {
  const own = { runs: [run("d", 40), run("b", 20)], more: true };
  expect(joined(own, { runs: [], more: false }, orderOf.newest)).toBe(own.runs);
  expect(joined({ runs: [], more: false }, own, orderOf.newest)).toBe(own.runs);
});

it("tells runs of both kinds with the same name apart", () => {
  const keys = [run("same", 1), run("same", 1, true)].map(keyOf);
  expect(new Set(keys).size).toBe(2);
  expect(namesOf(keys, false)).toEqual(["same"]);
  expect(namesOf(keys, true)).toEqual(["same"]);
});
