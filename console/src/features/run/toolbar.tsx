import { ChevronsDownUp, ChevronsUpDown, CircleX } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { IconButton } from "@/design/button";
import { Input } from "@/design/field";
import { count } from "@/design/format";
import { Phase, type PhaseCounts } from "@/design/phase";
import { isFailure, lookOf, phaseOfKey, phases } from "@/design/phases";
import { inSentence, t, tn } from "@/texts/texts";
import type { Found } from "./find";
import type { ActionSearch } from "./search";
import css from "./page.module.css";

export interface ToolbarProps {
  readonly search: ActionSearch;
  readonly counts: PhaseCounts;
  readonly found: Found | undefined;
  /** What was not searched, or not yet; empty for nothing. */
  readonly note: string;
  readonly onChange: (next: Partial<Record<keyof ActionSearch, ActionSearch[keyof ActionSearch]>>) => void;
  readonly onFirstFailure: () => void;
  /** Undefined if the view cannot expand and collapse. */
  readonly onOpenAll?: ((open: boolean) => void) | undefined;
}

/** The search and the phase filter of the actions. */
export function Toolbar({ search, counts, found, note, onChange, onFirstFailure, onOpenAll }: ToolbarProps) {
  const chosen = new Set((search.phases ?? "").split(",").filter((key) => phaseOfKey(key) !== undefined));
  const toggle = (key: string) => {
    const next = new Set(chosen);
    if (!next.delete(key)) next.add(key);
    onChange({ phases: [...next].join(",") || undefined });
  };
  const failed = phases.some((look) => isFailure(look.phase) && (counts.get(look.phase) ?? 0) > 0);
  return (
    <div className={css["toolbar"]} role="search" aria-label={t("Actions")}>
      <Find text={search.q ?? ""} onChange={(q) => onChange({ q: q || undefined })} />
      <div className={css["phases"]} role="group" aria-label={t("Filter by phase")}>
        {phases
          .filter((look) => (counts.get(look.phase) ?? 0) > 0 || chosen.has(look.key))
          .map((look) => (
            <button key={look.key} type="button" className={css["chip"]} aria-pressed={chosen.has(look.key)} onClick={() => toggle(look.key)}>
              <Phase phase={look.phase} label={labelOf(look.phase, counts)} />
            </button>
          ))}
      </div>
      {found && (
        <span role="status" className={css["found"]}>
          {tn(found.count, "{n} match", "{n} matches")}
          {note !== "" && `, ${note}`}
        </span>
      )}
      <span className={css["tools"]}>
        {failed && (
          <IconButton small label={t("Go to first failure")} onClick={onFirstFailure}>
            <CircleX size={15} aria-hidden />
          </IconButton>
        )}
        {onOpenAll && (
          <>
            <IconButton small label={t("Expand all")} onClick={() => onOpenAll(true)}>
              <ChevronsUpDown size={15} aria-hidden />
            </IconButton>
            <IconButton small label={t("Collapse all")} onClick={() => onOpenAll(false)}>
              <ChevronsDownUp size={15} aria-hidden />
            </IconButton>
          </>
        )}
      </span>
    </div>
  );
}

const labelOf = (phase: ActionPhase, counts: PhaseCounts): string => `${count(counts.get(phase) ?? 0)} ${inSentence(lookOf(phase).label)}`;

/** Writes the text to the URL after a pause in typing. */
function Find({ text, onChange }: { readonly text: string; readonly onChange: (text: string) => void }) {
  const [typed, setTyped] = useState(text);
  const [given, setGiven] = useState(text);
  const [sent, setSent] = useState(text);
  if (given !== text) {
    setGiven(text);
    if (text !== sent) setTyped(text);
  }
  const latest = useRef(onChange);
  useEffect(() => {
    latest.current = onChange;
  });
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => {
      setSent(typed);
      latest.current(typed);
    }, 200);
    return () => clearTimeout(timer);
  }, [typed, text]);
  return (
    <Input
      data-filter
      type="search"
      className={css["find"] ?? ""}
      placeholder={t("Find actions or shard:7")}
      aria-label={t("Find actions by task, name, group or input")}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
    />
  );
}
