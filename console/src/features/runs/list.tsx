import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { useEffect, useRef, useState, type CSSProperties, type KeyboardEvent } from "react";
import type { RunFold } from "@gen/flytebinary/insight/v1/runs_pb.js";
import { useShortcut } from "@/app/shortcuts";
import { Loading } from "@/design/notice";
import { useMedia } from "@/design/use-media";
import { t } from "@/texts/texts";
import { rowTitle, type Column, type RunFacts } from "./columns";
import { isTracked, phaseOf } from "@/entities/run/listed";
import { lookOf } from "@/design/phases";
import type { Line } from "./folds";
import { FoldRow } from "./fold-row";
import type { Sort } from "./search";
import css from "./list.module.css";

export interface RunListProps {
  readonly lines: readonly Line[];
  readonly onToggle: (fold: string) => void;
  readonly onAll: (fold: RunFold) => void;
  readonly columns: readonly Column[];
  readonly facts: RunFacts;
  readonly sort: Sort;
  readonly onSort: (sort: Sort) => void;
  readonly more: boolean;
  readonly loadMore: () => void;
  readonly loadingMore: boolean;
  readonly selected: ReadonlySet<string>;
  /** Selects or deselects runs by name. */
  readonly onSelect: (names: readonly string[], selected: boolean) => void;
  readonly onSeen: (names: readonly string[]) => void;
}

/** The runs that bulk actions apply to. Those of tracked runs are elsewhere. */
const selectable = (lines: readonly Line[]): readonly string[] =>
  lines.flatMap((line) => (line.kind === "run" && !isTracked(line.run) ? [line.key] : []));

const rowHeight = 40;
const cardHeight = 84;

/** The runs as rows, of which only the visible ones are rendered. Narrow screens show cards. */
export function RunList({ lines, onToggle, onAll, columns, facts, sort, onSort, more, loadMore, loadingMore, selected, onSelect, onSeen }: RunListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const narrow = useMedia("(max-width: 48rem)");
  const [active, setActive] = useState<string>();
  const last = useRef<string>(undefined);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (narrow ? cardHeight : rowHeight),
    getItemKey: (index) => lines[index]?.key ?? index,
    overscan: 12,
  });
  useEffect(() => rows.measure(), [rows, narrow]);
  const items = rows.getVirtualItems();
  const lastSeen = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more && lastSeen >= lines.length - 30) loadMore();
    // eslint-disable-next-line react-hooks/exhaustive-deps -- loadMore is a new function each time
  }, [lastSeen, more, lines.length]);
  const seen = items.map(({ index }) => (lines[index]?.kind === "run" ? lines[index].key : "")).join(",");
  useEffect(() => onSeen(seen.split(",").filter(Boolean)), [onSeen, seen]);

  const move = (by: number) => {
    if (lines.length === 0) return;
    const at = lines.findIndex(({ key }) => key === active);
    const next = at < 0 ? Math.max(0, Math.min(rows.range?.startIndex ?? 0, lines.length - 1)) : Math.max(0, Math.min(lines.length - 1, at + by));
    const name = lines[next]?.key ?? "";
    setActive(name);
    rows.scrollToIndex(next);
    // The row may have to be rendered first.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-run="${CSS.escape(name)}"]`)?.focus({ preventScroll: true })),
    );
  };
  const choices = selectable(lines);
  useShortcut("j", () => move(1), t("Next run (Enter opens it)"));
  useShortcut("k", () => move(-1), t("Previous run"));
  const mark = () => {
    if (active !== undefined && choices.includes(active)) onSelect([active], !selected.has(active));
  };
  useShortcut("x", mark, t("Select or deselect the run"));
  const arrows = (event: KeyboardEvent) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    move(event.key === "ArrowDown" ? 1 : -1);
  };
  const select = (name: string, on: boolean, range: boolean) => {
    const from = lines.findIndex(({ key }) => key === last.current);
    const to = lines.findIndex(({ key }) => key === name);
    last.current = name;
    onSelect(range && from >= 0 ? selectable(lines.slice(Math.min(from, to), Math.max(from, to) + 1)) : [name], on);
  };
  const all = choices.length > 0 && choices.every((name) => selected.has(name));
  const some = !all && choices.some((name) => selected.has(name));
  const style: CSSProperties = {
    ["--columns" as string]: `1.75rem ${columns.map(({ width: [min, share] }) => `minmax(${min}rem, ${share}fr)`).join(" ")}`,
    ["--min-width" as string]: `${columns.reduce((sum, { width: [min] }) => sum + min + 0.75, 3)}rem`,
  };
  return (
    <div ref={scroller} className={css["scroller"]} style={style} data-testid="runs-scroller">
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- the arrow keys go from link to link */}
      <div role="table" aria-label={t("Runs")} aria-rowcount={more ? -1 : lines.length + 1} className={css["table"]} onKeyDown={arrows}>
        <div role="rowgroup" className={css["head"]}>
          <div role="row" aria-rowindex={1} className={css["row"]}>
            <span role="columnheader" className={css["check"]}>
              <label>
                <input
                  type="checkbox"
                  aria-label={t("Select all listed runs")}
                  checked={all}
                  ref={(box) => {
                    if (box) box.indeterminate = some;
                  }}
                  onChange={() => onSelect(choices, !all)}
                />
                <span className={css["all"]}>{t("Select all listed runs")}</span>
              </label>
            </span>
            {columns.map((column) => (
              <Head key={column.key} column={column} sort={sort} onSort={onSort} />
            ))}
          </div>
        </div>
        <div role="rowgroup" className={css["body"]} style={{ height: rows.getTotalSize() }}>
          {items.map((item) => {
            const line = lines[item.index];
            if (!line) return null;
            if (line.kind !== "run") {
              return (
                <FoldRow
                  key={item.key}
                  line={line}
                  item={item}
                  measure={rows.measureElement}
                  columns={columns}
                  facts={facts}
                  onFocus={setActive}
                  onToggle={onToggle}
                  onAll={onAll}
                />
              );
            }
            const { run, key: name } = line;
            const on = selected.has(name);
            return (
              <div
                key={item.key}
                role="row"
                ref={rows.measureElement}
                data-index={item.index}
                aria-rowindex={item.index + 2}
                aria-selected={on}
                data-testid="run-row"
                data-name={name}
                data-phase={lookOf(phaseOf(run)).key}
                data-in-fold={line.inFold || undefined}
                className={`${css["row"] ?? ""} ${css["item"] ?? ""}`}
                style={{ transform: `translateY(${item.start}px)` }}
                onFocus={() => setActive(name)}
              >
                <span role="cell" className={css["check"]}>
                  <input
                    type="checkbox"
                    aria-label={t("Select {rowTitle}", { rowTitle: rowTitle(run) })}
                    disabled={isTracked(run)}
                    checked={on}
                    onChange={(event) => select(name, event.target.checked, event.nativeEvent instanceof MouseEvent && event.nativeEvent.shiftKey)}
                  />
                </span>
                {columns.map((column) => (
                  <span key={column.key} role="cell" className={css["cell"]} data-column={column.key}>
                    {column.cell(run, facts)}
                  </span>
                ))}
              </div>
            );
          })}
        </div>
      </div>
      {loadingMore && (
        <div className={css["more"]}>
          <Loading what={t("older runs")} />
        </div>
      )}
    </div>
  );
}

function Head({ column: { label, sorts }, sort, onSort }: { readonly column: Column; readonly sort: Sort; readonly onSort: (sort: Sort) => void }) {
  if (!sorts) {
    return (
      <span role="columnheader" className={css["cell"]}>
        {label}
      </span>
    );
  }
  const [down, up] = sorts;
  return (
    <span role="columnheader" className={css["cell"]} aria-sort={sort === down ? "descending" : sort === up ? "ascending" : "none"}>
      <button type="button" className={css["sort"]} onClick={() => onSort(sort === down ? up : down)}>
        {label}
        {sort === down && <ArrowDown size={12} aria-hidden />}
        {sort === up && <ArrowUp size={12} aria-hidden />}
      </button>
    </span>
  );
}
