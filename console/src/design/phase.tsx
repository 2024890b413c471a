import type { CSSProperties } from "react";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { count } from "./format";
import { lookOf, phases } from "./phases";
import css from "./parts.module.css";

const coloured = (name: string): CSSProperties => ({ ["--colour" as string]: `var(${name})` });

/** A phase as icon, colour and label; compact shows the label to screen readers only. */
export function Phase({ phase, compact = false, label }: { readonly phase: ActionPhase; readonly compact?: boolean; readonly label?: string }) {
  const look = lookOf(phase);
  const Icon = look.icon;
  return (
    <span className={css["phase"]} style={coloured(look.colour)} data-phase={look.key} title={compact ? look.label : undefined}>
      <Icon size={16} aria-hidden className={phase === ActionPhase.INITIALIZING ? css["turning"] : undefined} />
      <span className={compact ? "visually-hidden" : undefined}>{label ?? look.label}</span>
    </span>
  );
}

/** The number of actions in each phase. */
export type PhaseCounts = ReadonlyMap<ActionPhase, number>;

const present = (counts: PhaseCounts) => phases.filter((look) => (counts.get(look.phase) ?? 0) > 0);

/** A bar with the share of each phase. */
export function PhaseBar({ counts }: { readonly counts: PhaseCounts }) {
  const words = present(counts).map((look) => `${count(counts.get(look.phase) ?? 0)} ${look.label.toLowerCase()}`);
  return (
    <span className={css["bar"]} role="img" aria-label={words.join(", ") || "no actions"} title={words.join("\n")}>
      {present(counts).map((look) => (
        <span key={look.key} style={{ ...coloured(look.colour), flexGrow: counts.get(look.phase) }} />
      ))}
    </span>
  );
}

/** The count of each phase that occurs. */
export function PhaseNumbers({ counts }: { readonly counts: PhaseCounts }) {
  return (
    <ul className={css["counts"]}>
      {present(counts).map((look) => (
        <li key={look.key}>
          <Phase phase={look.phase} label={`${count(counts.get(look.phase) ?? 0)} ${look.label.toLowerCase()}`} />
        </li>
      ))}
    </ul>
  );
}
