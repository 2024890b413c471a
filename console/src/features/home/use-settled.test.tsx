import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { useSettled } from "./use-settled";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

function Page({ begun, read }: { readonly begun: boolean; readonly read: () => Promise<string> }) {
  useQuery({ queryKey: ["one"], queryFn: read, retry: false });
  return <p>{useSettled(begun) ? "settled" : "reads"}</p>;
}

const open = (begun: boolean, read: () => Promise<string>, client = new QueryClient()) =>
  render(
    <QueryClientProvider client={client}>
      <Page begun={begun} read={read} />
    </QueryClientProvider>,
  );
const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));

it("waits for what is read", async () => {
  let answer: (text: string) => void = () => undefined;
  open(true, () => new Promise((resolve) => (answer = resolve)));
  await pass(1000);
  expect(screen.getByText("reads")).toBeTruthy();
  await act(async () => {
    answer("");
    await vi.advanceTimersByTimeAsync(100);
  });
  expect(screen.getByText("settled")).toBeTruthy();
});

it("waits for the parts that are still loaded, but not for ever", async () => {
  open(false, () => Promise.resolve(""));
  await pass(2900);
  expect(screen.getByText("reads")).toBeTruthy();
  await pass(200);
  expect(screen.getByText("settled")).toBeTruthy();
});

it("does not wait for what was read before", async () => {
  const client = new QueryClient();
  client.setQueryData(["one"], "");
  open(true, () => new Promise(() => undefined), client);
  await pass(1);
  expect(screen.getByText("settled")).toBeTruthy();
});

it("waits a little after an answer, which may lead to a question", async () => {
  open(true, () => Promise.resolve(""));
  await pass(20);
  expect(screen.getByText("reads")).toBeTruthy();
  await pass(50);
  expect(screen.getByText("settled")).toBeTruthy();
});
