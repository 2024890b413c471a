import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import type { Problem } from "@/api/problem";
import { binaryClient, client } from "@/api/transport";
import { follow } from "@/api/watch";
import { useDenied, useMayRead } from "@/entities/access/use-denied";
import { keyOfRun, sourceOf, type RunName } from "../kind";
import { Pace } from "./pace";
import { RunModel } from "./run-model";

/** Follows a run while the component is mounted. The model stays the same object; use useModelVersion to render changes. */
export function useRunModel(run: RunName): { readonly model: RunModel; readonly problem: Problem | undefined } {
  const { project, domain, name } = run;
  const key = keyOfRun(run);
  const runSource = sourceOf(run);
  // eslint-disable-next-line react-hooks/exhaustive-deps -- a new run needs a new model
  const model = useMemo(() => new RunModel(), [key]);
  const [failure, setFailure] = useState<{ key: string; problem: Problem }>();
  const readable = useMayRead(useDenied(InsightService.method.describeActions, run));
  useEffect(() => {
    model.inputs.ask = readable
      ? async (numbers, signal) => (await client(InsightService).describeActions({ runId: { project, domain, name }, numbers, runSource }, { signal })).actions
      : undefined;
    model.inputs.resume();
    return () => model.inputs.stop();
  }, [model, readable, project, domain, name, runSource]);
  useEffect(() => {
    const control = new AbortController();
    const pace = new Pace();
    void follow(
      {
        open: (signal) =>
          binaryClient(InsightService).watchRunActions(
            { runId: { project, domain, name }, cursor: model.cursor, strings: model.strings, runSource },
            { signal },
          ),
        onMessage: (message) => {
          model.apply(message);
          return pace.next(model.size > 0);
        },
        onFailure: (problem) => setFailure({ key, problem }),
      },
      control.signal,
    );
    return () => control.abort();
  }, [model, key, project, domain, name, runSource]);
  return { model, problem: failure?.key === key ? failure.problem : undefined };
}

/**
 * The version of the model, updated at most once per frame, and less often for large runs: with 100,000 actions four times a
 * second, and twice while they load. The first actions, and the last of those that load, are shown at once.
 */
export function useModelVersion(model: RunModel): number {
  const subscribe = useMemo(
    () => (listener: () => void) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      let last = Number.NEGATIVE_INFINITY;
      let seen = stageOf(model);
      const stop = model.subscribe(() => {
        const stage = stageOf(model);
        const pause = stage > seen ? 0 : Math.min(model.total / 400, longestPause) * (model.complete ? 1 : 2);
        if (timer !== undefined && stage === seen) return;
        seen = stage;
        clearTimeout(timer);
        timer = setTimeout(() => {
          timer = undefined;
          last = performance.now();
          requestAnimationFrame(listener);
        }, Math.max(0, last + pause - performance.now()));
      });
      return () => {
        stop();
        clearTimeout(timer);
      };
    },
    [model],
  );
  return useSyncExternalStore(subscribe, () => model.version);
}

/** How far a run is loaded. */
const stageOf = (model: RunModel): number => Number(model.size > 0) + Number(model.complete);

/** The longest pause between two updates of a run that is loaded, in milliseconds. */
const longestPause = 250;
