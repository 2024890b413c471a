import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { madeUpRun } from "@/entities/run/model/run-model.fixture";
import { Flows, type AskFlows } from "./flows";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const answer: AskFlows = (parent) => Promise.resolve({ edges: [{ from: parent, to: "x", variable: "v" }], truncated: parent === "a2" });

it("asks once for each action whose children are drawn, one after the other", async () => {
  const ask = vi.fn(answer);
  const changed = vi.fn();
  const flows = new Flows(madeUpRun(1000, 10), ask, changed);
  flows.want([0, 1, 500]); // the last has no children
  flows.want([0, 1, 2]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(ask.mock.calls.map(([parent]) => parent)).toEqual(["a0", "a1", "a2"]);
  expect(changed).toHaveBeenCalledTimes(3);
  expect(flows.of(1)).toEqual([{ from: "a1", to: "x", variable: "v" }]);
  expect([flows.truncated([0, 1]), flows.truncated([2])]).toEqual([false, true]);
});

it("tries again when the server is away, goes on when it knows nothing of one, and leaves it when it cannot do that", async () => {
  const ask = vi
    .fn(answer)
    .mockRejectedValueOnce(new ConnectError("away", Code.Unavailable))
    .mockRejectedValueOnce(new ConnectError("gone", Code.NotFound));
  const flows = new Flows(madeUpRun(1000, 10), ask, () => undefined);
  flows.want([0, 1]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(ask.mock.calls.map(([parent]) => parent)).toEqual(["a0", "a0", "a1"]);
  ask.mockRejectedValueOnce(new ConnectError("no", Code.Unimplemented));
  flows.want([3, 4]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(ask).toHaveBeenCalledTimes(4);
});
