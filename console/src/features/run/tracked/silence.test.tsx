import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { modelOf } from "@/entities/run/model/run-model.fixture";
import { lastReport } from "./last-report";
import { Silence } from "./silence";

const minutes = (n: number): number => n * 60_000;

beforeEach(() => void vi.useFakeTimers({ now: minutes(30) })); // the run of the fixture was created at 0
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

it("takes the latest start or end of an action for the last report", () => {
  expect(lastReport(modelOf([{ name: "a0", started: 5 }, { name: "b", created: 7, started: 8, ended: 9 }]))).toBe(9);
  expect(lastReport(modelOf([{ name: "a0", started: 5 }, { name: "b", created: 17 }]))).toBe(17);
});

it("says for how long there was no report", () => {
  const model = modelOf([{ name: "a0", started: 0 }, { name: "b", started: minutes(5) }]);
  render(<Silence model={model} version={1} live />);
  expect(screen.getByTestId("silence").textContent).toMatch(/No report for 25\sm/);
});

it("is quiet about runs that report, and about those that have ended", () => {
  const recent = modelOf([{ name: "a0", started: minutes(25) }]);
  const old = modelOf([{ name: "a0", started: 0 }]);
  render(<Silence model={recent} version={1} live />);
  render(<Silence model={old} version={1} live={false} />);
  expect(screen.queryByTestId("silence")).toBeNull();
});
