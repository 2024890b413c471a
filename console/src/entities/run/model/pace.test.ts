import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Pace } from "./pace";

const frames: (() => void)[] = [];
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  frames.length = 0;
  vi.stubGlobal("requestAnimationFrame", (draw: () => void) => frames.push(draw));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const waits = async (pace: Pace, something: boolean): Promise<{ readonly over: () => boolean; readonly done: Promise<void> }> => {
  let over = false;
  const done = pace.next(something).then(() => void (over = true));
  await Promise.resolve();
  await Promise.resolve();
  return { over: () => over, done };
};

it("waits for a frame when there is something to draw, and then not until a slice is over", async () => {
  const pace = new Pace();
  expect((await waits(pace, false)).over()).toBe(true);
  const first = await waits(pace, true);
  expect(first.over()).toBe(false);
  vi.advanceTimersByTime(0);
  expect(frames).toHaveLength(1);
  frames[0]?.();
  await first.done;
  expect((await waits(pace, true)).over()).toBe(true);
  vi.advanceTimersByTime(150);
  const later = await waits(pace, true);
  expect(later.over()).toBe(false);
  await later.done; // without a frame
  expect(frames).toHaveLength(1);
});

it("does not wait long for a page in the background, which draws no frames", async () => {
  const first = await waits(new Pace(), true);
  vi.advanceTimersByTime(100);
  await first.done;
});
