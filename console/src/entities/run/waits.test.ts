import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { RunWaitSchema, WaitCause } from "@gen/flytebinary/insight/v1/waits_pb.js";
import { kindOfWait, waitWords } from "./waits";

const wait = (cause: WaitCause, more: { queue?: string; resource?: string; message?: string; holder?: string; actions?: number } = {}) =>
  create(RunWaitSchema, {
    wait: { cause, queue: more.queue ?? "", resource: more.resource ?? "", message: more.message ?? "" },
    actions: more.actions ?? 1,
    holders: more.holder === undefined ? [] : [{ runId: { project: "p", domain: "d", name: more.holder }, places: 1 }],
  });

describe("what a run waits for", () => {
  it.each([
    [wait(WaitCause.SIGNAL), "person", "Waiting for approval"],
    [wait(WaitCause.SIGNAL, { actions: 3 }), "person", "Waiting for 3 approvals"],
    [wait(WaitCause.QUEUE_ACTIONS, { queue: "gpu", holder: "finetune-a" }), "queue", "Waiting for queue gpu, behind finetune-a"],
    [wait(WaitCause.QUEUE_RUNS, { queue: "gpu" }), "queue", "Waiting for queue gpu"],
    [wait(WaitCause.INSTALLATION, { holder: "wide" }), "limit", "Waiting for the limit of the installation, behind wide"],
    [wait(WaitCause.RUN_CONCURRENCY), "limit", "Waiting for the limit of the run"],
    [wait(WaitCause.PLACEMENT, { resource: "nvidia.com/gpu" }), "capacity", "Waiting for a cluster with free nvidia.com/gpu"],
    [wait(WaitCause.CLUSTER, { message: "the cluster prepares its container: pulls image a:1" }), "image", "Waiting for its image"],
    [wait(WaitCause.CLUSTER, { message: "the cluster has no place for it yet" }), "capacity", "Waiting for the cluster"],
    [wait(WaitCause.WORKER_SLOTS), "capacity", "Waiting for a worker"],
    [wait(WaitCause.CONNECTOR), "other", "Waiting for the connector"],
  ] as const)("is said in words", (one, kind, words) => {
    expect(one.wait && kindOfWait(one.wait)).toBe(kind);
    expect(waitWords(one)).toBe(words);
  });
});
