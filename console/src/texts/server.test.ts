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

  it("is known clause by clause where it has several", () => {
    for (const [english, german] of [
      ["it asks for pool gpu; 2 of 3 clusters could take it; west had the most free cpu by weight", "sie verlangt Pool gpu; 2 von 3 Clustern konnten sie nehmen; west hatte, nach Gewicht, das meiste freie cpu"],
      ["queue night names it; no cluster of this name is registered", "Queue night nennt ihn; kein Cluster dieses Namens ist registriert"],
      ["no cluster of pool gpu takes it; cluster east is away; cluster west does not offer tasks of type ray", "kein Cluster von Pool gpu nimmt sie; Cluster east ist nicht erreichbar; Cluster west bietet Tasks vom Typ ray nicht"],
      ["it asks for 4 nvidia.com/gpu; free are 2 in east, 0 in north", "sie verlangt 4 nvidia.com/gpu; frei sind 2 in east, 0 in north"],
      ["there is no pool tpu of clusters; pools: default, gpu", "einen Pool tpu von Clustern gibt es nicht; Pools: default, gpu"],
      ["revision 2 failed: ValueError; revision 1 still serves", "Revision 2 ist fehlgeschlagen: ValueError; Revision 1 bedient weiter"],
    ] as const)
      expect(page.sayMessage(english)).toEqual({ text: german });
    expect(page.sayMessage("0/3 nodes; preempted")).toEqual({ text: "0/3 nodes; preempted", lang: "en" });
    expect(page.saySentence("Revision 3 starts.")).toEqual({ text: "Revision 3 startet." });
    expect(page.saySentence("Said by a task.")).toEqual({ text: "Said by a task.", lang: "en" });
  });

  it("broken rules of the contract keep their fields", () => {
    const of = (message: string) => page.problemOf(new ConnectError(message, Code.InvalidArgument));
    expect(of("name: must be at least 1 characters")).toMatchObject({ message: "name: muss mindestens 1 Zeichen haben" });
    expect(of('labels["a b"]: must be at most 63 characters; run_id: value is required')).toMatchObject({
      message: 'labels["a b"]: darf höchstens 63 Zeichen haben; run_id: ein Wert ist nötig',
    });
    expect(of("run_spec.cluster_pool: there is no pool x of clusters; pools: gpu")).toMatchObject({ message: "run_spec.cluster_pool: einen Pool x von Clustern gibt es nicht; Pools: gpu" });
    expect(of("project: of my own")).toMatchObject({ message: "project: of my own", lang: "en" });
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
    const placement = create(WaitSchema, { cause: WaitCause.PLACEMENT, message: "out of stock", sentences: [{ text: "{1}", values: ["out of stock"] }] });
    expect(page.sentencesOf(placement)).toEqual([{ text: "Kein Cluster nimmt sie gerade." }, { text: "Out of stock.", lang: "en" }]);
  });
});
