import type { CSSProperties } from "react";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { inSentence, t } from "@/texts/texts";
import { count } from "./format";
import { lookOf, phases, type PhaseLook } from "./phases";
import css from "./parts.module.css";

const coloured = (name: string): CSSProperties => ({ ["--colour" as string]: `var(${name})` });

/** How a state is shown. */
export type Look = Pick<PhaseLook, "key" | "label" | "icon" | "colour">;

export interface StateProps {
  readonly look: Look;
  /** Shows the label to screen readers only. */
  readonly compact?: boolean;
  readonly label?: string | undefined;
  /** The icon turns: work is in progress. */
  readonly turning?: boolean;
}

/** A state as icon, color and label. */
export function State({ look, compact = false, label, turning = false }: StateProps) {
  const Icon = look.icon;
  return (
    <span className={css["phase"]} style={coloured(look.colour)} data-phase={look.key} title={compact ? look.label : undefined}>
      <Icon size={16} aria-hidden className={turning ? css["turning"] : undefined} />
      <span className={compact ? "visually-hidden" : css["phase-label"]}>{label ?? look.label}</span>
    </span>
  );
}

/** The phase of an action. */
export function Phase({ phase, ...rest }: { readonly phase: ActionPhase } & Pick<StateProps, "compact" | "label">) {
  return <State look={lookOf(phase)} turning={phase === ActionPhase.INITIALIZING} {...rest} />;
}

/** The number of actions in each phase. */
export type PhaseCounts = ReadonlyMap<ActionPhase, number>;

const present = (counts: PhaseCounts) => phases.filter((look) => (counts.get(look.phase) ?? 0) > 0);

/** A bar with the share of each phase. */
export function PhaseBar({ counts }: { readonly counts: PhaseCounts }) {
  const words = present(counts).map((look) => `${count(counts.get(look.phase) ?? 0)} ${inSentence(look.label)}`);
  return (
    <span className={css["bar"]} role="img" aria-label={words.join(", ") || t("no actions")} title={words.join("\n")}>
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
          <Phase phase={look.phase} label={`${count(counts.get(look.phase) ?? 0)} ${inSentence(look.label)}`} />
        </li>
      ))}
    </ul>
  );
}
