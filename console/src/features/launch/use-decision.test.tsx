import { act, cleanup, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { undoTime, useDecision } from "./use-decision";

const sent = vi.fn<(value: string) => void>();

beforeEach(() => {
  vi.useFakeTimers();
  sent.mockReset();
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const show = () => renderHook(() => useDecision(sent));

it("is sent after the time, once", () => {
  const { result } = show();
  act(() => result.current.hold("yes"));
  act(() => void vi.advanceTimersByTime(undoTime - 1));
  expect(sent).not.toHaveBeenCalled();
  act(() => void vi.advanceTimersByTime(2 * undoTime));
  expect(sent.mock.calls).toEqual([["yes"]]);
  expect(result.current.held).toBeUndefined();
});

it("is sent at once when asked to, and not again", () => {
  const { result } = show();
  act(() => result.current.hold("yes"));
  act(() => result.current.now());
  act(() => void vi.advanceTimersByTime(2 * undoTime));
  expect(sent.mock.calls).toEqual([["yes"]]);
});

it("is never sent when it was undone, or when it is no longer seen", () => {
  const { result, unmount } = show();
  act(() => result.current.hold("yes"));
  act(() => result.current.undo());
  act(() => void vi.advanceTimersByTime(2 * undoTime));
  act(() => result.current.hold("no"));
  unmount();
  vi.advanceTimersByTime(2 * undoTime);
  expect(sent).not.toHaveBeenCalled();
});
