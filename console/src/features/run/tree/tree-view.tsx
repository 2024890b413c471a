import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent } from "react";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { count } from "@/design/format";
import { isLive } from "@/design/phases";
import { useNow } from "@/design/time";
import { t } from "@/texts/texts";
import type { Found } from "../find";
import { distinctionOf } from "@/entities/action/identity";
import { useWanted } from "@/entities/action/use-wanted";
import { ActionType, none, type RunModel } from "@/entities/run/model/run-model";
import { Line } from "./line";
import { lineOf } from "./lines";
import type { OpenLines } from "./use-lines";
import css from "./tree.module.css";

export const lineHeight = 30;
/** How long the cursor must stay on a line before it is selected, in milliseconds. */
const selectDelay = 120;

export interface TreeViewProps {
  readonly model: RunModel;
  readonly view: OpenLines;
  readonly found: Found | undefined;
  readonly selected: string;
  readonly onSelect: (action: string) => void;
}

/** The actions of a run as a tree. Only visible lines are rendered, and they keep their position when others are added. */
export function TreeView({ model, view, found, selected, onSelect }: TreeViewProps) {
  const { outline, lines, isOpen, choose } = view;
  const scroller = useRef<HTMLDivElement>(null);
  const anchor = useRef({ node: 0, below: 0 });
  const chosen = outline.node(model.row(selected));
  const [cursor, setCursor] = useState<number>();
  const current = cursor !== undefined && lineOf(lines, cursor) !== none ? cursor : chosen;
  const virtual = useVirtualizer({ count: lines.count, getScrollElement: () => scroller.current, estimateSize: () => lineHeight, overscan: 12 });
  useNow(1000, isLive(model.phase(0)));
  useWanted(
    model,
    "tree",
    virtual.getVirtualItems().map((item) => outline.row(lines.nodes[item.index] ?? 0)),
  );

  useLayoutEffect(() => {
    const element = scroller.current;
    const line = lineOf(lines, anchor.current.node);
    if (!element || line === none || anchor.current.node === 0) return;
    const top = line * lineHeight + anchor.current.below;
    if (Math.abs(element.scrollTop - top) > 1) element.scrollTop = top;
  }, [lines]);

  // Scroll to actions that are selected elsewhere.
  const reveal = useRef(virtual.scrollToIndex);
  const shownLines = useRef(lines);
  useEffect(() => {
    reveal.current = virtual.scrollToIndex;
    shownLines.current = lines;
  });
  const there = chosen !== none;
  useEffect(() => {
    setCursor(undefined);
    const line = lineOf(shownLines.current, there ? outline.node(model.row(selected)) : none);
    if (line !== none) reveal.current(line, { align: "auto" });
  }, [selected, there, outline, model]);

  const toggle = useCallback((node: number) => choose([node], !isOpen(node)), [choose, isOpen]);
  const pick = useCallback(
    (node: number) => {
      setCursor(node);
      const row = outline.row(node);
      if (row === none) toggle(node);
      else onSelect(model.name(row));
    },
    [outline, model, onSelect, toggle],
  );
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const go = (line: number) => {
    const node = lines.nodes[Math.max(0, Math.min(line, lines.count - 1))];
    if (node === undefined) return;
    setCursor(node);
    virtual.scrollToIndex(lineOf(lines, node));
    clearTimeout(timer.current);
    const row = outline.row(node);
    if (row !== none) timer.current = setTimeout(() => onSelect(model.name(row)), selectDelay);
  };
  const press = (event: KeyboardEvent) => {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const line = lineOf(lines, current);
    const page = Math.floor((scroller.current?.clientHeight ?? 0) / lineHeight);
    const branch = outline.first(current) !== none;
    const keys: Record<string, () => void> = {
      ArrowDown: () => go(line + 1),
      ArrowUp: () => go(line - 1),
      PageDown: () => go(line + page),
      PageUp: () => go(line - page),
      Home: () => go(0),
      End: () => go(lines.count - 1),
      ArrowRight: () => (branch && !isOpen(current) ? choose([current], true) : go(line + 1)),
      ArrowLeft: () => {
        if (branch && isOpen(current)) choose([current], false);
        else if (outline.parent(current) !== none) go(lineOf(lines, outline.parent(current)));
      },
      Enter: () => pick(current),
      " ": () => pick(current),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  return (
    <div
      ref={scroller}
      className={css["tree"]}
      role="tree"
      aria-label={t("{size} actions", { size: count(model.size) })}
      aria-activedescendant={current === none ? undefined : `node-${current}`}
      tabIndex={0}
      onKeyDown={press}
      onScroll={(event) => {
        const top = event.currentTarget.scrollTop;
        const line = Math.floor(top / lineHeight);
        anchor.current = { node: lines.nodes[line] ?? 0, below: top - line * lineHeight };
      }}
    >
      <div style={{ height: virtual.getTotalSize(), position: "relative" }} role="presentation">
        {virtual.getVirtualItems().map((item) => {
          const node = lines.nodes[item.index] ?? 0;
          const row = outline.row(node);
          const branch = outline.first(node) !== none;
          const open = branch ? isOpen(node) : undefined;
          return (
            <Line
              key={node}
              id={`node-${node}`}
              node={node}
              top={item.start}
              depth={lines.depths[item.index] ?? 0}
              title={row === none ? outline.group(node) : model.title(row)}
              identity={row === none ? "" : distinctionOf(model, row)}
              phase={row === none ? undefined : model.phase(row)}
              kind={row === none ? "group" : kindOf(model.type(row))}
              open={open}
              below={branch ? outline.counts(node) : undefined}
              failures={branch ? outline.failures(node) : 0}
              attempt={row === none ? 0 : model.attempt(row)}
              cached={row !== none && model.cached(row)}
              cluster={row === none ? "" : movedTo(model, row)}
              duration={row === none ? none : durationOf(model, row)}
              selected={row !== none && model.name(row) === selected}
              current={node === current}
              pale={found !== undefined && (row === none || !found.matches(row))}
              onToggle={toggle}
              onPick={pick}
            />
          );
        })}
      </div>
    </div>
  );
}

/** The cluster of an action that is not in that of its parent; for the root, any but the one named default. */
function movedTo(model: RunModel, row: number): string {
  if (!model.spread) return "";
  const [cluster, parent] = [model.cluster(row), model.parent(row)];
  if (parent === none) return cluster;
  return cluster === model.cluster(parent) ? "" : cluster || "default";
}

function kindOf(type: ActionType): "task" | "trace" | "condition" {
  switch (type) {
    case ActionType.Trace:
      return "trace";
    case ActionType.Condition:
      return "condition";
    default:
      return "task";
  }
}

/** The duration of an action so far; -1 if it has not started. */
function durationOf(model: RunModel, row: number): number {
  const from = model.started(row) >= 0 ? model.started(row) : model.created(row);
  const ended = model.ended(row);
  if (ended >= 0) return Math.max(0, ended - from);
  const phase: ActionPhase = model.phase(row);
  if (model.started(row) < 0 && phase !== ActionPhase.RUNNING) return none;
  return Math.max(0, model.now - from);
}
