import { Code } from "@connectrpc/connect";
import { useEffect, useRef, useState } from "react";
import { count, plural } from "@/design/format";
import { isLive } from "@/design/phases";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { CatalogCacheStatus } from "@gen/flyteidl2/core/catalog_pb.js";
import { read, write } from "@/app/storage";
import type { TabProps } from "../tab";
import { attemptOf } from "../use-action";
import { Level } from "./level";
import { LogBar, type LogChoices } from "./log-bar";
import { patternOf } from "./log-search";
import type { LogStore } from "./log-store";
import type { Source } from "./tail";
import { useLog, useSearch, useVersion } from "./use-log";
import { Viewport, type ViewportHandle } from "./viewport";
import css from "./logs.module.css";

const isFlag = (value: unknown): value is boolean => typeof value === "boolean";

const initial = (): LogChoices => ({
  query: "",
  regex: read("log-regex", isFlag) ?? false,
  matchCase: false,
  only: false,
  level: Level.None,
  wrap: read("log-wrap", isFlag) ?? false,
  times: read("log-times", isFlag) ?? false,
});

/** The log of an attempt, live while it runs. */
export function LogsTab({ action, details, attempt, line, onChange }: TabProps & { readonly line?: number | undefined }) {
  const context = attemptOf(details, attempt)?.logContext;
  const phase = details.attempts.find((one) => one.attempt === attempt)?.phase ?? ActionPhase.UNSPECIFIED;
  const live = isLive(phase) && isLive(details.status?.phase ?? ActionPhase.UNSPECIFIED);
  const [source, setSource] = useState<Source>({ kind: "primary" });
  const store = useLog(action, attempt, source, live);
  const [choices, setChoices] = useState(initial);
  const [follow, setFollow] = useState(live && line === undefined);
  const [current, setCurrent] = useState<number>();
  const viewport = useRef<ViewportHandle>(null);
  const { pattern, error } = usePattern(choices);
  const search = useSearch(store, { pattern, level: choices.level, only: choices.only });
  useArrival(store, line, viewport);

  const show = (at: number) => {
    setFollow(false);
    setCurrent(at);
    viewport.current?.show(at);
  };
  const change = (next: Partial<LogChoices>) => {
    setChoices((now) => ({ ...now, ...next }));
    setCurrent(undefined);
    if (next.wrap !== undefined) write("log-wrap", next.wrap);
    if (next.times !== undefined) write("log-times", next.times);
    if (next.regex !== undefined) write("log-regex", next.regex);
  };
  const missing = useMissing(store);
  if (attempt === 0) return <Empty title="No log yet">The action has not started.</Empty>;
  if (missing !== undefined) {
    const cached = details.status?.cacheStatus === CatalogCacheStatus.CACHE_HIT;
    return <Empty title="No log">{cached ? "Cache hit: the action did not run." : missing}</Empty>;
  }
  return (
    <div className={css["logs"]}>
      <LogBar
        store={store}
        search={search}
        choices={choices}
        onChange={change}
        wrong={error}
        current={current}
        onShow={show}
        context={context}
        source={source}
        onSource={setSource}
        follow={follow}
        onFollow={setFollow}
        name={`${action.run.name}-${action.name}-${attempt}.log`}
      />
      <State store={store} />
      <Viewport
        store={store}
        search={search}
        wrap={choices.wrap}
        times={choices.times}
        follow={follow}
        onFollow={setFollow}
        linked={line}
        current={current}
        onLink={(at) => onChange({ line: at === line ? undefined : at })}
        handle={viewport}
      />
    </div>
  );
}

/** Compiles the pattern only when its settings change. */
function usePattern({ query, regex, matchCase }: LogChoices) {
  const [made, setMade] = useState(() => ({ query, regex, matchCase, ...patternOf(query, regex, matchCase) }));
  if (made.query === query && made.regex === regex && made.matchCase === matchCase) return made;
  const next = { query, regex, matchCase, ...patternOf(query, regex, matchCase) };
  setMade(next);
  return next;
}

/** Scrolls to the line of the URL once it is loaded and laid out. */
function useArrival(store: LogStore, line: number | undefined, viewport: { readonly current: ViewportHandle | null }): void {
  const version = useVersion(store);
  const done = useRef<number>(undefined);
  useEffect(() => {
    let frame = 0;
    const arrive = () => {
      if (line === undefined || done.current === line || store.size < line) return;
      if (viewport.current?.show(line)) done.current = line;
      else frame = requestAnimationFrame(arrive);
    };
    arrive();
    return () => cancelAnimationFrame(frame);
  }, [store, version, line, viewport]);
}

/** Why there is no log; undefined if there is one, or may be. */
function useMissing(store: LogStore): string | undefined {
  useVersion(store);
  const { reading } = store;
  return reading.state === "failed" && reading.problem.code === Code.NotFound && store.size === 0 ? reading.problem.message : undefined;
}

function State({ store }: { readonly store: LogStore }) {
  useVersion(store);
  const { reading } = store;
  switch (reading.state) {
    case "failed":
      return <ProblemNotice error={reading.problem} />;
    case "opening":
      return <Loading what="log" />;
    case "not found yet":
      return <p className={css["state"]}>No log yet. It appears with the first output of the container.</p>;
    case "full":
      return <p className={css["state"]}>Showing the first {count(store.size)} lines, which is the limit of the console. The CLI has all lines.</p>;
    case "ended":
      return <p className={css["state"]}>{store.size === 0 ? "The log is empty." : `${plural(store.size, "line")}, complete`}</p>;
    default:
      return (
        <p className={css["state"]}>
          {plural(store.size, "line")}, live
        </p>
      );
  }
}
