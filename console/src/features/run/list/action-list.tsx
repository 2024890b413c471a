import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, type KeyboardEvent } from "react";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { dateOf } from "@/design/format";
import { Phase } from "@/design/phase";
import { isLive } from "@/design/phases";
import { Span } from "@/design/time";
import { taskOf } from "@/features/runs/task-of";
import { inOrder } from "./order";
import type { Actions } from "./use-actions";
import css from "./action-list.module.css";

const rowHeight = 32;

export interface ActionListProps {
  readonly actions: Actions;
  readonly selected: string;
  readonly onSelect: (action: string) => void;
}

/** The actions of a run as an indented list; only the rows in sight are drawn. */
export function ActionList({ actions, selected, onSelect }: ActionListProps) {
  const rows = useMemo(() => inOrder(actions), [actions]);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => rowHeight, overscan: 10 });
  const at = Math.max(
    0,
    rows.findIndex((row) => row.action.id?.name === selected),
  );
  const move = (event: KeyboardEvent) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    const name = to === undefined ? undefined : rows[to]?.action.id?.name;
    if (to === undefined || name === undefined) return;
    event.preventDefault();
    virtual.scrollToIndex(to);
    onSelect(name);
  };
  return (
    <div
      ref={scroller}
      className={css["list"]}
      role="listbox"
      aria-label={`${rows.length} actions`}
      aria-activedescendant={`action-${selected}`}
      tabIndex={0}
      onKeyDown={move}
    >
      <div style={{ height: virtual.getTotalSize(), position: "relative" }} role="presentation">
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (!row) return null;
          const name = row.action.id?.name ?? "";
          const phase = row.action.status?.phase ?? ActionPhase.UNSPECIFIED;
          const attempts = row.action.status?.attempts ?? 1;
          return (
            // eslint-disable-next-line jsx-a11y/click-events-have-key-events -- the list takes the keys
            <div
              key={name}
              id={`action-${name}`}
              role="option"
              tabIndex={-1}
              aria-selected={name === selected}
              className={css["row"]}
              style={{ transform: `translateY(${item.start}px)`, paddingLeft: `calc(${row.depth} * var(--space-4) + var(--space-2))` }}
              onClick={() => onSelect(name)}
            >
              <Phase phase={phase} compact />
              <span className={css["title"]}>{taskOf(row.action)}</span>
              {row.action.metadata?.group && <span className={css["group"]}>{row.action.metadata.group}</span>}
              {attempts > 1 && <span className={css["group"]}>attempt {attempts}</span>}
              <span className={css["time"]}>
                <Span from={dateOf(row.action.status?.startTime)} to={isLive(phase) ? undefined : dateOf(row.action.status?.endTime)} />
              </span>
            </div>
          );
        })}
      </div>
    </div>
  );
}
