import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { follow } from "./watch";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Opens streams that say what they are given: numbers, the end, or an error. "hang" says nothing until it is aborted. */
function streams(...scripts: readonly (readonly (number | "hang" | ConnectError)[])[]) {
  const opened: number[] = [];
  const open = async function* (signal: AbortSignal): AsyncGenerator<number> {
    const script = scripts[opened.push(Date.now()) - 1] ?? ["hang" as const];
    for (const step of script) {
      if (step === "hang") await new Promise((_, reject) => signal.addEventListener("abort", () => reject(new ConnectError("aborted", Code.Canceled))));
      else if (typeof step === "number") yield await Promise.resolve(step);
      else throw step;
    }
  };
  return { open, opened };
}

async function run(source: ReturnType<typeof streams>, ms: number) {
  const taken: number[] = [];
  const failed: string[] = [];
  const control = new AbortController();
  const done = follow(
    { open: source.open, onMessage: (n: number) => void taken.push(n), onFailure: (problem) => void failed.push(problem.title) },
    control.signal,
  );
  await vi.advanceTimersByTimeAsync(ms);
  control.abort();
  await vi.advanceTimersByTimeAsync(0);
  await done;
  return { taken, failed };
}

it("reconnects when the connection is lost", async () => {
  const source = streams([1, new ConnectError("gone", Code.Unavailable)], [new ConnectError("gone", Code.Unavailable)], [2]);
  expect(await run(source, 2000)).toEqual({ taken: [1, 2], failed: [] });
});

it("reconnects when the server was overloaded", async () => {
  const source = streams([new ConnectError("too many streams", Code.ResourceExhausted)], [2]);
  expect(await run(source, 2000)).toEqual({ taken: [2], failed: [] });
});

it("does not retry permanent errors", async () => {
  const source = streams([new ConnectError("no such run", Code.NotFound)]);
  expect(await run(source, 60_000)).toEqual({ taken: [], failed: ["Not found"] });
  expect(source.opened).toHaveLength(1);
});

it("pauses before it reopens a stream that ended early", async () => {
  const source = streams([1], [1], [1]);
  await run(source, 11_000);
  expect(source.opened).toHaveLength(3);
});

it("reopens a silent stream", async () => {
  const source = streams(["hang"], [7, "hang"]);
  expect((await run(source, 61_000)).taken).toEqual([7]);
});
