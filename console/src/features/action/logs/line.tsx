import { memo, type CSSProperties } from "react";
import { t } from "@/texts/texts";
import { pieces } from "./ansi";
import { Level } from "./level";
import { shownWidth, type LogStore } from "./log-store";
import css from "./logs.module.css";

export interface LineProps {
  readonly store: LogStore;
  readonly line: number;
  /** Its position in pixels from the top of the viewport. */
  readonly top: number;
  readonly height: number;
  readonly time: string | undefined;
  /** The container, if there are several. */
  readonly source: string | undefined;
  readonly pattern: RegExp | undefined;
  /** Whether it is the line of the URL, or the current match. */
  readonly mark: "linked" | "current" | undefined;
  readonly onLink: (line: number) => void;
}

const levels: Partial<Record<Level, string>> = { [Level.Error]: "error", [Level.Warning]: "warning", [Level.Debug]: "debug" };

/** A line of a log with its number, its time and its colors. */
export const Line = memo(function Line({ store, line, top, height, time, source, pattern, mark, onLink }: LineProps) {
  const text = store.text(line);
  const hidden = text.length - shownWidth;
  const place: CSSProperties = { transform: `translateY(${top}px)`, height };
  return (
    <div className={css["line"]} style={place} data-line={line + 1} data-level={levels[store.level(line)]} data-mark={mark}>
      <button type="button" className={css["number"]} tabIndex={-1} aria-label={t("Link to line {line}", { line: line + 1 })} onClick={() => onLink(line + 1)}>
        {line + 1}
      </button>
      {time !== undefined && <span className={css["time"]}>{time}</span>}
      {source !== undefined && <span className={css["source"]}>{source}</span>}
      <span className={css["text"]}>
        {pieces(hidden > 0 ? text.slice(0, shownWidth) : text, hidden > 0 ? undefined : store.styled(line), pattern).map((piece, at) => {
          const name = piece.styles.map((style) => css[style]).join(" ");
          return piece.hit ? (
            <mark key={at} className={name}>
              {piece.text}
            </mark>
          ) : name ? (
            <span key={at} className={name}>
              {piece.text}
            </span>
          ) : (
            piece.text
          );
        })}
        {hidden > 0 && <span className={css["hidden"]}> {t("… {hidden} more characters", { hidden })}</span>}
      </span>
    </div>
  );
});
