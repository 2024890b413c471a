import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { DataProxyService } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import { binaryClient } from "@/api/transport";
import { keyOf, type ActionName } from "@/entities/action/name";
import { LogSearch, type Wanted } from "./log-search";
import { LogStore } from "./log-store";
import { tail, type Source } from "./tail";

/** Reads the log of an attempt while the component is mounted. The store stays the same object. */
export function useLog(action: ActionName, attempt: number, source: Source, live: boolean): LogStore {
  const key = `${keyOf(action)}/${attempt}/${source.kind === "pod" ? source.pod : source.kind}`;
  // eslint-disable-next-line react-hooks/exhaustive-deps -- a new log needs a new store
  const store = useMemo(() => new LogStore(), [key]);
  const latest = useRef({ action, source, live });
  useEffect(() => {
    latest.current = { action, source, live };
  });
  useEffect(() => {
    if (attempt === 0) return;
    const control = new AbortController();
    const { action, source } = latest.current;
    void tail(binaryClient(DataProxyService), { action, attempt, source, live: () => latest.current.live }, store, control.signal);
    return () => control.abort();
  }, [store, key, attempt]);
  return store;
}

/** Searches a log while the component is mounted. */
export function useSearch(store: LogStore, wanted: Wanted): LogSearch {
  const { pattern, level, only } = wanted;
  const search = useMemo(() => new LogSearch(store, { pattern, level, only }), [store, pattern, level, only]);
  useEffect(() => {
    const control = new AbortController();
    void search.run(control.signal);
    return () => control.abort();
  }, [search]);
  return search;
}

interface Changing {
  readonly version: number;
  subscribe(listener: () => void): () => void;
}

/** The version of an object outside React, updated at most once per frame. */
export function useVersion(changing: Changing): number {
  const subscribe = useMemo(
    () => (listener: () => void) => {
      let frame = 0;
      const stop = changing.subscribe(() => {
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
    [changing],
  );
  return useSyncExternalStore(subscribe, () => changing.version);
}
