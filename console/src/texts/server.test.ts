import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { SentenceSchema } from "@gen/flytebinary/insight/v1/sentence_pb.js";
import { WaitCause, WaitSchema } from "@gen/flytebinary/insight/v1/waits_pb.js";
import server from "./server.json";

/** The modules as a page in German has them: the language is decided while they are loaded. */
async function german() {
  vi.stubGlobal("localStorage", { getItem: () => "de" });
  vi.stubGlobal("document", { documentElement: {} });
  vi.resetModules();
  const { loadLanguage } = await import("./language");
  await loadLanguage();
  return { ...(await import("./server")), ...(await import("@/api/problem")), ...(await import("@/entities/run/waits")) };
}

describe("what the server says, in German", () => {
  let page: Awaited<ReturnType<typeof german>>;
  beforeAll(async () => void (page = await german()));
  afterAll(() => {
    vi.unstubAllGlobals();
    vi.resetModules();
  });
  const parts = (text: string, values: readonly string[] = [], n?: bigint) => ({ text, values, ...(n === undefined ? {} : { n }) });

  it("is translated by its parts", () => {
    expect(page.sayParts(parts("run {1} does not exist", ["r"]))).toEqual({ text: "Run r gibt es nicht" });
    expect(page.sayParts(parts("{n} actions are ahead of it in queue {1}", ["gpu"], 1n)).text).toBe("eine Aktion ist in Queue gpu vor ihr");
    expect(page.sayParts(parts("{n} actions are ahead of it in queue {1}", ["gpu"], 3n)).text).toBe("3 Aktionen sind in Queue gpu vor ihr");
  });

  it("stays English, marked as English, where it has no translation", () => {
    expect(page.sayParts(parts("{1}", ["0/3 nodes are available"]))).toEqual({ text: "0/3 nodes are available", lang: "en" });
    expect(page.sayParts(parts("it is {1} o'clock", ["8"]))).toEqual({ text: "it is 8 o'clock", lang: "en" });
    expect(page.sayMessage("Back-off pulling image")).toEqual({ text: "Back-off pulling image", lang: "en" });
  });

  it("is known by its words where a message has no room for parts", () => {
    expect(page.sayMessage("connector batch runs it as job 7").text).toBe("Connector batch führt ihn als Job 7 aus");
    expect(page.sayMessage("ValueError; retrying in 5 s (retry 1 of 2 of the task)").text).toBe("ValueError; neuer Versuch in 5 s (Wiederholung 1 von 2 des Tasks)");
  });

  it("each sentence that is known by its words is known as itself", () => {
    const known = server.filter((one: { said?: boolean }) => one.said);
    expect(known.length).toBeGreaterThan(20);
    for (const { text } of known) {
      const message = text.replace(/\{(\d+)\}/g, "v$1");
      expect(page.partsOf(message)?.text, message).toBe(text);
    }
  });

  it("an error keeps the field that it blames", () => {
    const error = new ConnectError("run_spec.queue: queue x does not exist; queues: gpu", Code.InvalidArgument, undefined, [
      { desc: SentenceSchema, value: create(SentenceSchema, { text: "queue {1} does not exist; queues: {2}", values: ["x", "gpu"] }) },
    ]);
    expect(page.problemOf(error)).toMatchObject({ message: "run_spec.queue: Queue x gibt es nicht; Queues: gpu", title: "Ungültige Anfrage" });
    expect(page.problemOf(new ConnectError("no such thing", Code.NotFound))).toMatchObject({ message: "no such thing", lang: "en" });
  });

  it("a wait has a sentence for each part, and its free texts are marked", () => {
    const wait = create(WaitSchema, {
      cause: WaitCause.CLUSTER,
      message: "the cluster has no place for it yet: waiting for a node (pod p not scheduled yet)",
      sentences: [{ text: "the cluster has no place for it yet: {1}", values: ["waiting for a node (pod p not scheduled yet)"] }],
    });
    expect(page.sentencesOf(wait)).toEqual([{ text: "Der Cluster hat noch keinen Platz dafür: wartet auf einen Node (Pod p ist noch nicht eingeplant)." }]);
    const placement = create(WaitSchema, { cause: WaitCause.PLACEMENT, message: "no cluster takes it: west is away", sentences: [{ text: "{1}", values: ["no cluster takes it: west is away"] }] });
    expect(page.sentencesOf(placement)).toEqual([{ text: "Kein Cluster nimmt sie gerade." }, { text: "No cluster takes it: west is away.", lang: "en" }]);
  });
});
