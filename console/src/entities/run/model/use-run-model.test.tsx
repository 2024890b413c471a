import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { act, cleanup, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { WatchRunActionsResponseSchema, type WatchRunActionsResponse } from "@gen/flytebinary/insight/v1/run_actions_pb.js";
import { RunModel } from "./run-model";
import { useModelVersion } from "./use-run-model";

const total = 100_000;
const start = create(WatchRunActionsResponseSchema, { part: { case: "start", value: { totalActions: total, createdAt: timestampFromMs(0) } } });
const caughtUp = create(WatchRunActionsResponseSchema, { part: { case: "caughtUp", value: { cursor: 1n, now: timestampFromMs(0) } } });
const action = (number: number) =>
  create(WatchRunActionsResponseSchema, { part: { case: "actions", value: { numbers: [number], names: [`a${number}`], parents: [0], strings: number === 0 ? [""] : [] } } });

let renders = 0;
beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("requestAnimationFrame", (draw: () => void) => setTimeout(draw, 16));
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function shown(): (message: WatchRunActionsResponse, ms: number) => Promise<number> {
  const model = new RunModel();
  renderHook(() => {
    renders++;
    return useModelVersion(model);
  });
  return async (message, ms) => {
    renders = 0;
    await act(async () => {
      model.apply(message);
      await vi.advanceTimersByTimeAsync(ms);
    });
    return renders;
  };
}

it("shows the first actions and the last of a large run at once, and the others at most twice a second", async () => {
  const after = shown();
  expect(await after(start, 20)).toBe(1);
  expect(await after(action(0), 20)).toBe(1);
  expect(await after(action(1), 400)).toBe(0);
  expect(await after(action(2), 100)).toBe(1);
  expect(await after(action(3), 20)).toBe(0);
  expect(await after(caughtUp, 20)).toBe(1);
});

it("shows changes of a large run four times a second", async () => {
  const after = shown();
  for (const message of [start, action(0), caughtUp]) await after(message, 20);
  expect(await after(action(1), 200)).toBe(0);
  expect(await after(action(1), 60)).toBe(1);
});
