import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Inquiry, type Question } from "./inquiry";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Something to ask a number of times, each of which takes some time, in milliseconds. */
function asking(times: number, takes = 0) {
  const ask = vi.fn((signal: AbortSignal) => {
    times--;
    return new Promise<void>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(new ConnectError("given up", Code.Canceled)));
      setTimeout(resolve, takes);
    });
  });
  const question: Question = { ask, refused: () => true };
  return { ask, next: () => (times > 0 ? question : undefined), more: () => times++ };
}

it("asks one after the other for as long as there is something to ask", async () => {
  const { ask, next } = asking(3, 10);
  const inquiry = new Inquiry(next, 50);
  inquiry.want();
  inquiry.want();
  await vi.advanceTimersByTimeAsync(49);
  expect(ask).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(11);
  expect(ask).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(ask).toHaveBeenCalledTimes(3);
});

it("does not let what is new wait for what will be old", async () => {
  const { ask, next, more } = asking(0);
  const inquiry = new Inquiry(() => next() ?? 5000, 0);
  inquiry.want();
  await vi.advanceTimersByTimeAsync(1000);
  more();
  inquiry.want();
  await vi.advanceTimersByTimeAsync(1);
  expect(ask).toHaveBeenCalledTimes(1);
  more();
  await vi.advanceTimersByTimeAsync(5000);
  expect(ask).toHaveBeenCalledTimes(2);
  inquiry.stop();
});

it("gives up when it is stopped, and goes on with what is wanted before the end of that", async () => {
  const { ask, next } = asking(2, 1000);
  const inquiry = new Inquiry(next, 0);
  inquiry.want();
  await vi.advanceTimersByTimeAsync(10);
  inquiry.stop();
  inquiry.want();
  await vi.advanceTimersByTimeAsync(10);
  expect(ask).toHaveBeenCalledTimes(2);
  expect(ask.mock.calls.map(([signal]) => signal.aborted)).toEqual([true, false]);
  inquiry.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ask).toHaveBeenCalledTimes(2);
});

it("tries again more and more seldom while the server is away, whatever is wanted meanwhile", async () => {
  const { ask, next } = asking(100);
  ask.mockRejectedValue(new ConnectError("away", Code.Unavailable));
  const inquiry = new Inquiry(next, 0);
  for (let i = 0; i < 190; i++) {
    inquiry.want();
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(ask).toHaveBeenCalledTimes(6); // at 0, 0.5, 1.5, 3.5, 8.5 and 18.5 seconds
  inquiry.stop();
});
