import { ArrowDown, ArrowUp, CaseSensitive, CircleAlert, Clock, Download, Filter, Regex, WrapText, ChevronsDown } from "lucide-react";
import type { ReactNode } from "react";
import { IconButton } from "@/design/button";
import { Input, Select } from "@/design/field";
import { count } from "@/design/format";
import { save } from "@/design/save";
import { t } from "@/texts/texts";
import { Level } from "./level";
import type { LogSearch } from "./log-search";
import type { LogStore } from "./log-store";
import { useVersion } from "./use-log";
import css from "./logs.module.css";

/** The display settings of a log. */
export interface LogChoices {
  readonly query: string;
  readonly regex: boolean;
  readonly matchCase: boolean;
  readonly only: boolean;
  readonly level: Level;
  readonly wrap: boolean;
  readonly times: boolean;
}

export interface LogBarProps {
  readonly store: LogStore;
  readonly search: LogSearch;
  readonly choices: LogChoices;
  readonly onChange: (next: Partial<LogChoices>) => void;
  /** The error of the pattern. */
  readonly wrong: string | undefined;
  /** The line of the current match, from 1. */
  readonly current: number | undefined;
  readonly onShow: (line: number) => void;
  /** A choice of what is read. */
  readonly picker: ReactNode;
  readonly follow: boolean;
  readonly onFollow: (follow: boolean) => void;
  /** The name of the downloaded file. */
  readonly name: string;
}

const levels = [Level.None, Level.Info, Level.Warning, Level.Error] as const;

/** The toolbar of a log. */
export function LogBar({ store, search, choices, onChange, wrong, current, onShow, picker, follow, onFollow, name }: LogBarProps) {
  useVersion(store);
  useVersion(search);
  const { matches } = search;
  const at = current === undefined ? -1 : matches.lastUpTo(current - 1);
  const step = (by: 1 | -1) => {
    if (matches.size === 0) return;
    const exact = at >= 0 && matches.get(at) + 1 === current;
    const next = by === 1 ? at + 1 : exact ? at - 1 : at;
    onShow(matches.get((next + matches.size) % matches.size) + 1);
  };
  return (
    <div className={css["bar"]} role="toolbar" aria-label={t("Log")}>
      <form
        className={css["search"]}
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          step(1);
        }}
      >
        <Input
          type="search"
          placeholder={t("Search log")}
          aria-label={t("Search log")}
          aria-invalid={wrong !== undefined}
          title={wrong}
          value={choices.query}
          onChange={(event) => onChange({ query: event.target.value })}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || !event.shiftKey) return;
            event.preventDefault();
            step(-1);
          }}
        />
      </form>
      {choices.query !== "" && (
        <span className={css["found"]} role="status" data-testid="log-found">
          {wrong ? t("Invalid pattern") : `${at >= 0 ? `${t("{number} of", { number: count(at + 1) })} ` : ""}${count(matches.size)}${search.scanned < store.size ? " …" : ""}`}
        </span>
      )}
      <IconButton small label={t("Previous match (Shift Enter)")} disabled={matches.size === 0} onClick={() => step(-1)}>
        <ArrowUp size={14} aria-hidden />
      </IconButton>
      <IconButton small label={t("Next match (Enter)")} disabled={matches.size === 0} onClick={() => step(1)}>
        <ArrowDown size={14} aria-hidden />
      </IconButton>
      <Toggle label={t("Regular expression")} on={choices.regex} onToggle={(regex) => onChange({ regex })} icon={<Regex size={14} aria-hidden />} />
      <Toggle label={t("Match case")} on={choices.matchCase} onToggle={(matchCase) => onChange({ matchCase })} icon={<CaseSensitive size={14} aria-hidden />} />
      <Toggle label={t("Only matching lines")} on={choices.only} onToggle={(only) => onChange({ only })} icon={<Filter size={14} aria-hidden />} />
      <Select
        className={css["narrow"]}
        aria-label={t("Levels")}
        value={choices.level}
        onChange={(event) => onChange({ level: levels.find((known) => String(known) === event.target.value) ?? Level.None })}
      >
        <option value={Level.None}>{t("All levels")}</option>
        <option value={Level.Info}>{t("Info and above")}</option>
        <option value={Level.Warning}>{t("Warnings and errors")}</option>
        <option value={Level.Error}>{t("Errors")}</option>
      </Select>
      <IconButton small label={t("First error")} disabled={store.firstError < 0} onClick={() => onShow(store.firstError + 1)}>
        <CircleAlert size={14} aria-hidden />
      </IconButton>
      {picker}
      <Toggle label={t("Timestamps")} on={choices.times} onToggle={(times) => onChange({ times })} icon={<Clock size={14} aria-hidden />} />
      <Toggle label={t("Wrap long lines")} on={choices.wrap} onToggle={(wrap) => onChange({ wrap })} icon={<WrapText size={14} aria-hidden />} />
      <Toggle label={t("Follow")} on={follow} onToggle={onFollow} icon={<ChevronsDown size={14} aria-hidden />} />
      <IconButton small label={t("Download")} disabled={store.size === 0} onClick={() => save(store.file(), name)}>
        <Download size={14} aria-hidden />
      </IconButton>
    </div>
  );
}

function Toggle({
  label,
  on,
  onToggle,
  icon,
}: {
  readonly label: string;
  readonly on: boolean;
  readonly onToggle: (on: boolean) => void;
  readonly icon: ReactNode;
}) {
  return (
    <IconButton small label={label} aria-pressed={on} className={css["toggle"] ?? ""} onClick={() => onToggle(!on)}>
      {icon}
    </IconButton>
  );
}
