import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import { EnrichedActionSchema } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { inOrder } from "./order";

const action = (name: string, parent: string, startedAt?: number) =>
  [
    name,
    create(EnrichedActionSchema, {
      action: { id: { name }, metadata: { parent }, status: startedAt === undefined ? {} : { startTime: timestampFromMs(startedAt) } },
    }),
  ] as const;

it("puts children below their parents, in the order of their start", () => {
  const actions = new Map([action("late", "a0", 30), action("below", "early", 25), action("a0", "", 10), action("early", "a0", 20), action("waits", "a0")]);
  expect(inOrder(actions).map((placed) => `${placed.depth} ${placed.action.id?.name ?? ""}`)).toEqual([
    "0 a0",
    "1 early",
    "2 below",
    "1 late",
    "1 waits",
  ]);
});

it("loses nothing whose parent has not come yet", () => {
  expect(inOrder(new Map([action("orphan", "elsewhere", 5)]))).toHaveLength(1);
});
