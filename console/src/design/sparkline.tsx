import type { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { t, tn } from "@/texts/texts";
import { duration } from "./format";
import { isFailure, lookOf } from "./phases";
import css from "./sparkline.module.css";

/** How one of several actions ended. */
export interface Outcome {
  readonly phase: ActionPhase;
  /** The cache had its outputs. */
  readonly cached: boolean;
  /** How long it ran, in milliseconds. */
  readonly ran: number | undefined;
}

const low = 4;
const high = 18;

/** The last outcomes as bars, the oldest first: the color is the phase, the height the run time relative to the longest. */
export function Sparkline({ outcomes }: { readonly outcomes: readonly Outcome[] }) {
  const longest = Math.max(1, ...outcomes.map(({ ran }) => ran ?? 0));
  const failed = outcomes.filter(({ phase }) => isFailure(phase)).length;
  const words = `${tn(outcomes.length, "{n} action", "{n} actions")}, ${failed === 0 ? t("none failed") : t("{failed} failed", { failed })}`;
  return (
    <span className={css["line"]} role="img" aria-label={t("Last {words}", { words })} data-text={words}>
      {outcomes.map(({ phase, cached, ran }, at) => (
        <span
          key={at}
          className={cached ? css["cached"] : undefined}
          style={{ background: `var(${lookOf(phase).colour})`, height: `${low + (high - low) * Math.sqrt((ran ?? 0) / longest)}px` }}
          title={[lookOf(phase).label, cached && "cached", ran !== undefined && duration(ran)].filter(Boolean).join(", ")}
        />
      ))}
    </span>
  );
}
