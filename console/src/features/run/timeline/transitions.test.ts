import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { madeUpRun } from "@/entities/run/model/run-model.fixture";
import { Transitions } from "./transitions";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const answer = (numbers: number[]) => Promise.resolve(numbers.map((number) => ({ number, attempt: 1, phase: ActionPhase.QUEUED, at: number })));
const rows = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

it("asks for no more than 500 at once, and once only", async () => {
  const ask = vi.fn(answer);
  const changed = vi.fn();
  const transitions = new Transitions(madeUpRun(2000), ask, changed);
  transitions.want(rows(0, 10));
  transitions.want(rows(0, 700));
  await vi.advanceTimersByTimeAsync(500);
  expect(ask.mock.calls.map(([numbers]) => numbers.length)).toEqual([500, 200]);
  expect(transitions.get(650)).toEqual([{ attempt: 1, phase: ActionPhase.QUEUED, at: 650 }]);
  transitions.want(rows(100, 600));
  await vi.advanceTimersByTimeAsync(5000);
  expect(ask).toHaveBeenCalledTimes(2);
  expect(changed).toHaveBeenCalledTimes(2);
  transitions.stop();
});

it("tries again when the server is away, and leaves it when it will not answer", async () => {
  const ask = vi.fn(answer).mockRejectedValueOnce(new ConnectError("away", Code.Unavailable));
  const transitions = new Transitions(madeUpRun(10), ask, () => undefined);
  transitions.want([1]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(ask).toHaveBeenCalledTimes(2);
  ask.mockRejectedValueOnce(new ConnectError("no", Code.Unimplemented));
  transitions.want([2]);
  await vi.advanceTimersByTimeAsync(60_000);
  transitions.want([3]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ask).toHaveBeenCalledTimes(3);
});
