import { useCallback, useEffect, useImperativeHandle, useLayoutEffect, useMemo, useRef, useState, type Ref } from "react";
import { usePreferences } from "@/app/preferences";
import { t } from "@/texts/texts";
import { Layout, Scale } from "./layout";
import { Line } from "./line";
import type { LogSearch } from "./log-search";
import type { LogStore } from "./log-store";
import { useVersion } from "./use-log";
import css from "./logs.module.css";

/** The height of a row in pixels, as in the style sheet. */
const row = 18;
/** The width of the parts of the gutter, in columns. The number has its digits in addition. */
const gutter = { number: 2, time: 14, source: 22 };

export interface ViewportHandle {
  /** Scrolls a line to the middle; false if it is not laid out yet. */
  show(line: number): boolean;
}

export interface ViewportProps {
  readonly store: LogStore;
  readonly search: LogSearch;
  readonly wrap: boolean;
  readonly times: boolean;
  readonly follow: boolean;
  readonly onFollow: (follow: boolean) => void;
  /** Lines, from 1. */
  readonly linked: number | undefined;
  readonly current: number | undefined;
  readonly onLink: (line: number) => void;
  readonly handle: Ref<ViewportHandle>;
}

/**
 * The visible part of a log. Only visible lines are rendered, on a sheet that stays in place while the scroll bar moves, so that
 * a million lines scroll as fast as ten.
 */
export function Viewport({ store, search, wrap, times, follow, onFollow, linked, current, onLink, handle }: ViewportProps) {
  const version = useVersion(store) + useVersion(search);
  const { zone } = usePreferences();
  const scroller = useRef<HTMLDivElement>(null);
  const size = useSize(scroller);
  const [scroll, setScroll] = useState(0);
  const several = store.names.length > 1;
  const digits = String(store.size).length;
  const taken = digits + gutter.number + (times ? gutter.time : 0) + (several ? gutter.source : 0);
  const columns = wrap ? Math.max(20, Math.floor(size.width / size.character) - taken - 1) : 0;
  const layout = useMemo(() => new Layout(store, search, columns), [store, search, columns]);
  const rows = layout.rows();
  const scale = new Scale(Math.max(rows * row, 1), size.height);
  const latest = useRef({ layout, scale, search, size, rows });
  useLayoutEffect(() => {
    latest.current = { layout, scale, search, size, rows };
  });

  const last = useRef(0);
  const toEnd = useCallback(() => {
    const element = scroller.current;
    if (element) element.scrollTop = element.scrollHeight;
  }, []);
  useLayoutEffect(() => {
    if (follow) toEnd();
  }, [follow, version, rows, size.height, toEnd]);

  useImperativeHandle(handle, () => ({
    show: (line) => {
      const element = scroller.current;
      const { layout, scale, search, size, rows } = latest.current;
      const at = layout.top(search.placeOf(line - 1));
      if (!element || at >= rows) return false;
      const top = scale.toScroll(at * row - size.height / 2 + row);
      element.scrollTop = top;
      last.current = element.scrollTop; // a programmatic scroll does not count as scrolling to the end
      setScroll(element.scrollTop);
      return element.scrollTop > top - 1;
    },
  }));

  const scrolled = () => {
    const element = scroller.current;
    if (!element) return;
    const top = element.scrollTop;
    const atEnd = top + element.clientHeight >= element.scrollHeight - row;
    if (atEnd !== follow && (atEnd ? top > last.current : top < last.current)) onFollow(atEnd);
    last.current = top;
    setScroll(top);
  };

  const position = scale.toLog(scroll);
  const stamp = useMemo(() => stamper(zone), [zone]);
  const visible: { line: number; top: number; height: number }[] = [];
  if (search.size > 0) {
    for (let place = layout.placeAt(Math.floor(position / row)); place < search.size; place++) {
      const top = layout.top(place) * row - position;
      if (top > size.height) break;
      const end = place + 1 < search.size ? layout.top(place + 1) : rows;
      visible.push({ line: search.line(place), top, height: (end - layout.top(place)) * row });
    }
  }
  return (
    <div
      ref={scroller}
      className={css["scroller"]}
      onScroll={scrolled}
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable region must be reachable by keyboard
      tabIndex={0}
      role="log"
      aria-live="off"
      aria-label={t("Log")}
      data-testid="log"
      data-lines={store.size}
    >
      <div className={css["height"]} style={{ height: scale.height, minWidth: wrap ? undefined : `${store.widest + taken + 1}ch` }}>
        <div className={`${css["sheet"] ?? ""} ${wrap ? (css["wrap"] ?? "") : ""}`} style={{ ["--digits" as string]: digits }}>
          {visible.map(({ line, top, height }) => (
            <Line
              key={line}
              store={store}
              line={line}
              top={top}
              height={height}
              time={times ? stamp(store.at(line)) : undefined}
              source={several ? shortOf(store.source(line)) : undefined}
              pattern={search.wanted.pattern}
              mark={line + 1 === current ? "current" : line + 1 === linked ? "linked" : undefined}
              onLink={onLink}
            />
          ))}
        </div>
      </div>
      <span aria-hidden className={css["measure"]} data-measure>
        {"0".repeat(50)}
      </span>
    </div>
  );
}

/** Keeps the end of a long name: it distinguishes pods and containers. */
function shortOf(name: string): string {
  return name.length <= gutter.source - 2 ? name : `…${name.slice(-(gutter.source - 3))}`;
}

interface Size {
  readonly width: number;
  readonly height: number;
  /** The width of a character. */
  readonly character: number;
}

function useSize(of: { readonly current: HTMLElement | null }): Size {
  const [size, setSize] = useState<Size>({ width: 800, height: 400, character: 8 });
  useEffect(() => {
    const element = of.current;
    if (!element) return;
    const observer = new ResizeObserver(() => {
      const sample = element.querySelector("[data-measure]")?.getBoundingClientRect().width ?? 0;
      setSize({ width: element.clientWidth, height: element.clientHeight, character: sample > 0 ? sample / 50 : 8 });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [of]);
  return size;
}

/** Formats times of day with milliseconds, in a zone. */
function stamper(zone: string | undefined): (at: number | undefined) => string {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });
  return (at) => (at === undefined ? "" : format.format(at).replace(",", "."));
}
