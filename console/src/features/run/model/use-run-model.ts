import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import type { Problem } from "@/api/problem";
import { client } from "@/api/transport";
import { follow } from "@/api/watch";
import { RunModel } from "./run-model";

export interface RunName {
  readonly project: string;
  readonly domain: string;
  readonly name: string;
}

/** Follows a run as long as the component lives. The model stays the same object; use useModelVersion to be drawn anew. */
export function useRunModel(run: RunName): { readonly model: RunModel; readonly problem: Problem | undefined } {
  const { project, domain, name } = run;
  const key = `${project}/${domain}/${name}`;
  // eslint-disable-next-line react-hooks/exhaustive-deps -- a new run is a new model
  const model = useMemo(() => new RunModel(), [key]);
  const [failure, setFailure] = useState<{ key: string; problem: Problem }>();
  useEffect(() => {
    const control = new AbortController();
    void follow(
      {
        open: (signal) =>
          client(InsightService).watchRunActions({ runId: { project, domain, name }, cursor: model.cursor, strings: model.strings }, { signal }),
        take: (message) => model.apply(message),
        fail: (problem) => setFailure({ key, problem }),
      },
      control.signal,
    );
    return () => control.abort();
  }, [model, key, project, domain, name]);
  return { model, problem: failure?.key === key ? failure.problem : undefined };
}

/** The model's version, at most once a frame, so that a burst of changes draws once. */
export function useModelVersion(model: RunModel): number {
  const subscribe = useMemo(
    () => (listener: () => void) => {
      let frame = 0;
      const stop = model.subscribe(() => {
        frame ||= requestAnimationFrame(() => {
          frame = 0;
          listener();
        });
      });
      return () => {
        stop();
        cancelAnimationFrame(frame);
      };
    },
    [model],
  );
  return useSyncExternalStore(subscribe, () => model.version);
}
