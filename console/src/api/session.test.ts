// @vitest-environment happy-dom
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { AccessService } from "@gen/flytebinary/access/v1/access_pb.js";

const out = () => new ConnectError("sign in first", Code.Unauthenticated);
let answers: (() => { subject: string })[] = [];
let replaced: string[] = [];

/** The module as a page has it that was just loaded. */
async function load() {
  vi.resetModules();
  const session = await import("./session");
  const transport = createRouterTransport(({ service }) => service(AccessService, { getMe: () => answers.shift()?.() ?? { subject: "ada" } }), {
    transport: { interceptors: [session.session] },
  });
  return { ...session, client: createClient(AccessService, transport) };
}

const served = (subject: string | undefined) =>
  vi.stubGlobal(
    "fetch",
    vi.fn(() => Promise.resolve(new Response(JSON.stringify(subject === undefined ? {} : { subject }), { status: subject === undefined ? 401 : 200 }))),
  );

beforeEach(() => {
  vi.useFakeTimers();
  answers = [];
  replaced = [];
  vi.spyOn(location, "replace").mockImplementation((to) => void replaced.push(String(to)));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const refuse = () => {
  throw out();
};

it("leaves a page that was never answered for the sign-in page, once, and names the way back", async () => {
  const { client } = await load();
  answers = [refuse, refuse];
  history.replaceState(null, "", "/v2/domain/d/project/p/runs?q=a%20b");
  void client.getMe({});
  void client.getMe({});
  await vi.advanceTimersByTimeAsync(10_000);
  expect(replaced).toEqual([`/access/sign-in?${new URLSearchParams({ return: "/v2/domain/d/project/p/runs?q=a%20b" }).toString()}`]);
});

it("sends a call again after the same person has signed in, and leaves the page alone", async () => {
  const { client, reportCaller } = await load();
  reportCaller((await client.getMe({})).subject);
  served(undefined);
  answers = [refuse];
  const call = client.getMe({});
  await vi.advanceTimersByTimeAsync(10_000);
  served("ada");
  await vi.advanceTimersByTimeAsync(2000);
  expect((await call).subject).toBe("ada");
  expect(replaced).toEqual([]);
});

it("reloads the page when another person has signed in", async () => {
  const { client, reportCaller } = await load();
  const reload = vi.spyOn(location, "reload").mockImplementation(() => undefined);
  reportCaller("ada");
  answers = [refuse];
  served("eve");
  void client.getMe({});
  await vi.advanceTimersByTimeAsync(2000);
  expect(reload).toHaveBeenCalled();
});

it("gives up a call that is canceled meanwhile", async () => {
  const { client, reportCaller } = await load();
  reportCaller("ada");
  served(undefined);
  answers = [refuse];
  const control = new AbortController();
  const call = expect(client.getMe({}, { signal: control.signal })).rejects.toMatchObject({ code: Code.Canceled });
  await vi.advanceTimersByTimeAsync(1000);
  control.abort();
  await call;
});
