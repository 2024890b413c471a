import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore, type KeyboardEvent } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { client } from "@/api/transport";
import { usePreferences } from "@/app/preferences";
import { read, write } from "@/app/storage";
import { count } from "@/design/format";
import { none, type RunModel } from "@/entities/run/model/run-model";
import type { RunName } from "@/entities/run/kind";
import { t } from "@/texts/texts";
import { Timeline } from "./controller";
import { Hint } from "./hint";
import { listen, listenOverview, press } from "./input";
import { placeOf } from "./order";
import { rowId, SpokenRows } from "./rows";
import { WhySlow } from "./slow";
import { sourceOf } from "@/entities/run/kind";
import { Toolbar } from "./toolbar";
import type { AskTransitions } from "./transitions";
import type { Rows } from "./viewport";
import css from "./timeline.module.css";

export interface TimelineViewProps {
  readonly run: RunName;
  readonly model: RunModel;
  readonly version: number;
  readonly selected: string;
  readonly onSelect: (name: string) => void;
  readonly visible: (row: number) => boolean;
}

/** How long the cursor must stay on a row before the page selects it, in milliseconds: a held key passes many rows. */
const selectDelay = 150;

const isBoolean = (value: unknown): value is boolean => typeof value === "boolean";
const isRows = (value: unknown): value is Rows => value === "roomy" || value === "compact";

/** The actions of a run as bars over time. */
export function TimelineView({ run, model, version, selected, onSelect, visible }: TimelineViewProps) {
  const timeline = useTimeline(run, model);
  const shown = useSyncExternalStore(timeline.subscribe, () => timeline.shown);
  const { zone } = usePreferences();
  const [rows, setRows] = useState<Rows>(() => read("timeline-rows", isRows) ?? "roomy");
  const [path, setPath] = useState(() => read("timeline-path", isBoolean) ?? true);
  const [hovered, setHovered] = useState(none);
  const scroller = useRef<HTMLDivElement>(null);
  const spacer = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const overview = useRef<HTMLCanvasElement>(null);
  const hint = useRef<HTMLDivElement>(null);
  const choose = useChoice(timeline, model, onSelect);

  useLayoutEffect(() => {
    if (!scroller.current || !spacer.current || !canvas.current || !overview.current) return;
    const stops = [
      timeline.attach({ scroller: scroller.current, spacer: spacer.current, canvas: canvas.current, overview: overview.current }),
      listenOverview(overview.current, timeline),
      listen(canvas.current, timeline, {
        choose,
        hover: (row, x, y) => {
          timeline.hover(row);
          setHovered(row);
          if (hint.current) placeHint(hint.current, x, y);
        },
      }),
    ];
    return () => stops.forEach((stop) => stop());
  }, [timeline, choose]);
  useEffect(() => timeline.update(visible), [timeline, version, visible]);
  // The row of a name is known only once its part of the run has come.
  const row = useMemo(() => (version < 0 ? none : model.row(selected)), [model, selected, version]);
  useEffect(() => timeline.select(row), [timeline, row]);
  useEffect(() => {
    timeline.zone = zone;
    timeline.rows = rows;
    timeline.showsPath = path;
  }, [timeline, zone, rows, path]);

  const keyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const result = press(timeline, event.key);
    if (result === false) return;
    event.preventDefault();
    if (typeof result === "number") choose(result, selectDelay);
  };
  return (
    <div className={css["timeline"]} data-testid="timeline">
      <Toolbar
        timeline={timeline}
        all={shown.all}
        rows={rows}
        onRows={(next) => {
          write("timeline-rows", next);
          setRows(next);
        }}
        path={path}
        onPath={(next) => {
          write("timeline-path", next);
          setPath(next);
        }}
      />
      <canvas ref={overview} className={css["overview"]} aria-hidden title={t("The whole run. Drag to move the visible range.")} />
      <div
        ref={scroller}
        className={css["scroller"]}
        role="listbox"
        tabIndex={0}
        aria-label={t("Timeline of {rows} actions", { rows: count(shown.rows) })}
        aria-describedby="timeline-keys"
        aria-activedescendant={placeOf(shown.order, shown.cursor) === none ? undefined : rowId(shown.cursor)}
        onKeyDown={keyDown}
      >
        <div ref={spacer} role="presentation">
          <canvas ref={canvas} className={css["canvas"]} aria-hidden />
        </div>
        <SpokenRows model={model} shown={shown} />
      </div>
      <p id="timeline-keys" className="visually-hidden">
        {t("Up and down select an action, left and right move through time, plus and minus zoom, zero fits the run, enter zooms to the action, space collapses its children.")}
      </p>
      <div ref={hint} className={css["hint"]} hidden={hovered === none}>
        {hovered !== none && <Hint timeline={timeline} row={hovered} />}
      </div>
      {path && shown.path && shown.path.total > 0 && (
        <WhySlow timeline={timeline} path={shown.path} live={shown.live} selected={shown.cursor} onSelect={choose} />
      )}
    </div>
  );
}

/** The timeline of a run, created once. */
function useTimeline(run: RunName, model: RunModel): Timeline {
  const { project, domain, name } = run;
  const runSource = sourceOf(run);
  return useMemo(() => {
    const ask: AskTransitions = async (numbers, signal) =>
      (await client(InsightService).listTransitions({ runId: { project, domain, name }, numbers, runSource }, { signal })).transitions;
    return new Timeline(model, ask);
  }, [model, project, domain, name, runSource]);
}

/** Selects a row: immediately on the canvas, and on the page after a delay. */
function useChoice(timeline: Timeline, model: RunModel, onSelect: (name: string) => void): (row: number, delay?: number) => void {
  const latest = useRef(onSelect);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    latest.current = onSelect;
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(
    (row, delay = 0) => {
      if (row < 0) return;
      timeline.select(row);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => latest.current(model.name(row)), delay);
    },
    [timeline, model],
  );
}

/** Places the hint next to the pointer, on the side with enough space. */
function placeHint(hint: HTMLElement, x: number, y: number): void {
  const [right, below] = [x < innerWidth - 340, y < innerHeight - 260];
  hint.style.left = right ? `${x + 14}px` : "auto";
  hint.style.right = right ? "auto" : `${innerWidth - x + 10}px`;
  hint.style.top = below ? `${y + 14}px` : "auto";
  hint.style.bottom = below ? "auto" : `${innerHeight - y + 10}px`;
}
