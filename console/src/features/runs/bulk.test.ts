// @vitest-environment happy-dom
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { abortKind } from "./bulk-kinds";
import { runBulk, summarize, type Bulk, type Outcome } from "./bulk";

const named = (name: string) => ({ project: "p", domain: "d", name });
const runs = ["a", "b", "c", "d", "e"].map(named);

async function outcomes(act: Bulk["act"], more: Partial<Bulk> = {}): Promise<Outcome[]> {
  const heard: Outcome[] = [];
  await runBulk({ runs, act, onOutcome: (outcome) => heard.push(outcome), signal: new AbortController().signal, pause: 0, ...more });
  return heard;
}

it("does it to each once, a few at a time", async () => {
  let now = 0;
  let most = 0;
  const done = await outcomes(
    async () => {
      most = Math.max(most, ++now);
      await Promise.resolve();
      now--;
      return { kind: "done" };
    },
    { parallel: 2 },
  );
  expect(done.map(({ run }) => run.name).sort()).toEqual(["a", "b", "c", "d", "e"]);
  expect(most).toBe(2);
});

it("tries again what may pass, and gives up in the end", async () => {
  const tries = new Map<string, number>();
  const heard = await outcomes((run) => {
    const n = (tries.get(run.name) ?? 0) + 1;
    tries.set(run.name, n);
    if (run.name === "a" || (run.name === "b" && n < 3)) return Promise.reject(new ConnectError("gone", Code.Unavailable));
    return Promise.resolve({ kind: "done" });
  });
  expect(tries.get("a")).toBe(5);
  expect(tries.get("b")).toBe(3);
  expect(heard.filter(({ result }) => result.kind === "refused").map(({ run }) => run.name)).toEqual(["a"]);
});

it("does not try again what is refused", async () => {
  let calls = 0;
  const heard = await outcomes(
    () => {
      calls++;
      return Promise.reject(new ConnectError("you may not", Code.PermissionDenied));
    },
    { runs: runs.slice(0, 1) },
  );
  expect(calls).toBe(1);
  expect(heard).toEqual([{ run: named("a"), result: { kind: "refused", why: "you may not" } }]);
});

it("stops before the next one", async () => {
  const control = new AbortController();
  const heard = await outcomes(
    () => {
      control.abort();
      return Promise.resolve({ kind: "done" });
    },
    { parallel: 1, signal: control.signal },
  );
  expect(heard).toHaveLength(1);
});

it("sums up by reason, whatever the name in it", () => {
  const { done, skipped, refused } = summarize([
    { run: named("a"), result: { kind: "done" } },
    { run: named("r1"), result: { kind: "refused", why: "run r1 is gone" } },
    { run: named("r2"), result: { kind: "refused", why: "run r2 is gone" } },
    { run: named("r3"), result: { kind: "refused", why: "other" } },
    { run: named("s"), result: { kind: "skipped", why: "already ended" } },
  ]);
  expect(done).toHaveLength(1);
  expect(skipped).toEqual([{ why: "already ended", runs: [named("s")] }]);
  expect(refused.map(({ why, runs: some }) => [why, some.length])).toEqual([
    ["run … is gone", 2],
    ["other", 1],
  ]);
});

it("asks the server only for what can be aborted", () => {
  expect(abortKind.narrowed({})).toEqual({ query: "is:active" });
  expect(abortKind.narrowed({ query: "x", sort: "oldest" })).toEqual({ query: "x is:active" });
  expect(abortKind.narrowed({ query: "a or b" })).toEqual({ query: "(a or b) is:active" });
});
