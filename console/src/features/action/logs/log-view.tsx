import { useEffect, useRef, useState, type ReactNode } from "react";
import { read, write } from "@/app/storage";
import { count } from "@/design/format";
import { Loading, Notice, ProblemNotice } from "@/design/notice";
import { t, tn } from "@/texts/texts";
import { Level } from "./level";
import { LogBar, type LogChoices } from "./log-bar";
import { patternOf } from "./log-search";
import type { LogStore } from "./log-store";
import { useSearch, useVersion } from "./use-log";
import { Viewport, type ViewportHandle } from "./viewport";
import css from "./logs.module.css";

export interface LogViewProps {
  readonly store: LogStore;
  /** Whether it starts at the end and follows new lines. */
  readonly live: boolean;
  /** The line of the URL, from 1. */
  readonly line: number | undefined;
  readonly onLine: (line: number | undefined) => void;
  /** The name of the downloaded file. */
  readonly name: string;
  /** A choice of what is read, in the toolbar. */
  readonly picker?: ReactNode;
}

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

/** A log with its tools: search, levels, times, wrapping, following, links to lines and download. */
export function LogView({ store, live, line, onLine, name, picker }: LogViewProps) {
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
        picker={picker}
        follow={follow}
        onFollow={setFollow}
        name={name}
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
        onLink={(at) => onLine(at === line ? undefined : at)}
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

/** A message of the server as a sentence. */
const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function State({ store }: { readonly store: LogStore }) {
  useVersion(store);
  const { reading } = store;
  switch (reading.state) {
    case "failed":
      return <ProblemNotice error={reading.problem} />;
    case "opening":
      return <Loading what={t("log")} />;
    case "not found yet":
      return <p className={css["state"]}>{t("No log yet. It appears with the first output of the container.")}</p>;
    case "away":
      return (
        <Notice tone="warning" title={t("The log pauses")} role="status">
          <p>
            {sentence(reading.why)}
            {store.size > 0 && ` ${tn(store.size, "Shown are the {n} line that came before.", "Shown are the {n} lines that came before.")}`} {t("This page tries again by itself.")}
          </p>
        </Notice>
      );
    case "full":
      return <p className={css["state"]}>{t("Showing the first {size} lines, which is the limit of the console. The CLI has all lines.", { size: count(store.size) })}</p>;
    case "ended":
      return <p className={css["state"]}>{store.size === 0 ? t("The log is empty.") : tn(store.size, "{n} line, complete", "{n} lines, complete")}</p>;
    default:
      return (
        <p className={css["state"]}>
          {tn(store.size, "{n} line, live", "{n} lines, live")}
        </p>
      );
  }
}
