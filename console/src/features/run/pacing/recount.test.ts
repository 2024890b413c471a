import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Recount } from "./recount";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const taking = (ms: number) => vi.fn((signal: AbortSignal) => new Promise<void>((resolve) => setTimeout(resolve, signal.aborted ? 0 : ms)));

it("does the work once for many wishes, and again for those that came meanwhile", async () => {
  const work = taking(10);
  const recount = new Recount(work);
  for (let i = 0; i < 5; i++) recount.want(700);
  await vi.advanceTimersByTimeAsync(5);
  expect(work).toHaveBeenCalledTimes(1);
  for (let i = 0; i < 5; i++) recount.want(700);
  await vi.advanceTimersByTimeAsync(600);
  expect(work).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(work).toHaveBeenCalledTimes(2);
});

it("is done at once when a person waits for it, whatever was planned", async () => {
  const work = taking(10);
  const recount = new Recount(work);
  recount.want(0);
  await vi.advanceTimersByTimeAsync(20);
  recount.want(700);
  recount.want(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(work).toHaveBeenCalledTimes(2);
  recount.want(0); // comes too late for the run in progress
  await vi.advanceTimersByTimeAsync(11);
  expect(work).toHaveBeenCalledTimes(3);
});

it("leaves the page time when the work is long", async () => {
  const work = taking(500);
  const recount = new Recount(work);
  recount.want(0);
  await vi.advanceTimersByTimeAsync(500);
  recount.want(700);
  await vi.advanceTimersByTimeAsync(3900);
  expect(work).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(work).toHaveBeenCalledTimes(2);
  recount.want(0);
  recount.stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(work.mock.calls[1]?.[0].aborted).toBe(true);
  expect(work).toHaveBeenCalledTimes(2);
});
