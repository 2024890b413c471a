// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { chunk } from "./chunk";

const missing = new TypeError("Failed to fetch dynamically imported module");
const answer = { ok: (): Promise<Response> => Promise.resolve(new Response()), lost: (): Promise<Response> => Promise.reject(new TypeError("Failed to fetch")) };
let reloads = 0;

beforeEach(() => {
  vi.useFakeTimers();
  sessionStorage.clear();
  reloads = 0;
  vi.spyOn(location, "reload").mockImplementation(() => {
    reloads++;
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("retries until the server answers", async () => {
  const ask = vi.fn(answer.ok).mockImplementationOnce(answer.lost).mockImplementationOnce(answer.lost);
  vi.stubGlobal("fetch", ask);
  const load = vi.fn(() => Promise.resolve("the page")).mockRejectedValueOnce(missing);
  const loaded = chunk(load);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await loaded).toBe("the page");
  expect(ask).toHaveBeenCalledTimes(3);
  expect(load).toHaveBeenCalledTimes(2);
  expect(reloads).toBe(0);
});

it("reloads the page once when the server does not have the part any more", async () => {
  vi.stubGlobal("fetch", vi.fn(answer.ok));
  const load = () => Promise.reject<string>(missing);
  void chunk(load);
  await vi.advanceTimersByTimeAsync(0);
  expect(reloads).toBe(1);
  await expect(chunk(load)).rejects.toBe(missing);
  expect(reloads).toBe(1);
});
