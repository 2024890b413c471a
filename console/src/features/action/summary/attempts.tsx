import type { CSSProperties } from "react";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import type { ActionAttempt } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { dateOf, duration } from "@/design/format";
import { Phase } from "@/design/phase";
import { isTerminal, lookOf } from "@/design/phases";
import { useNow, When } from "@/design/time";
import { t } from "@/texts/texts";
import { segmentsOf } from "./segments";
import css from "./summary.module.css";

/** The attempts of an action with their phases. */
export function Attempts({
  attempts,
  chosen,
  live,
  onChoose,
}: {
  readonly attempts: readonly ActionAttempt[];
  readonly chosen: number;
  readonly live: boolean;
  readonly onChoose: (attempt: number) => void;
}) {
  const now = useNow(1000, live);
  if (attempts.length === 0) return null;
  return (
    <section className={css["section"]}>
      <h3>{attempts.length > 1 ? t("Attempts") : live ? t("Progress") : t("Phases")}</h3>
      <ol className={css["attempts"]}>
        {[...attempts]
          .sort((a, b) => b.attempt - a.attempt)
          .map((attempt) => (
            <Attempt key={attempt.attempt} attempt={attempt} now={now} open={attempt.attempt === chosen} alone={attempts.length === 1} onChoose={onChoose} />
          ))}
      </ol>
    </section>
  );
}

/**
 * One attempt: a bar with a part for each phase, the phases in full if it is chosen, else the first line of its error.
 * A short phase keeps half a percent of the bar, so that it can be pointed at.
 */
function Attempt({
  attempt,
  now,
  open,
  alone,
  onChoose,
}: {
  readonly attempt: ActionAttempt;
  readonly now: number;
  readonly open: boolean;
  readonly alone: boolean;
  readonly onChoose: (attempt: number) => void;
}) {
  const segments = segmentsOf(attempt, now);
  const whole = segments.reduce((sum, segment) => sum + segment.ms, 0);
  const words = segments.map((segment) => `${lookOf(segment.phase).label} ${duration(segment.ms)}`).join(", ");
  return (
    <li className={css["attempt"]} data-attempt={attempt.attempt}>
      <div className={css["attempt-head"]}>
        {!alone && (
          <button type="button" className={css["link"]} aria-current={open} onClick={() => onChoose(attempt.attempt)}>
            {t("Attempt {attempt}", { attempt: attempt.attempt })}
          </button>
        )}
        <Phase phase={attempt.phase} />
        <span className={css["muted"]}>{duration(whole)}</span>
      </div>
      <div className={css["segments"]} role="img" aria-label={words || t("No phases yet")}>
        {segments.map((segment, at) => {
          const style: CSSProperties = { ["--colour" as string]: `var(${lookOf(segment.phase).colour})`, flexGrow: Math.max(segment.ms, whole / 200) };
          return <span key={at} style={style} title={`${lookOf(segment.phase).label}: ${duration(segment.ms)}`} />;
        })}
      </div>
      {open && (
        <ol className={css["steps"]}>
          {attempt.phaseTransitions.map((transition, at) => (
            <li key={at}>
              <Phase phase={transition.phase} />
              <When at={dateOf(transition.startTime)} />
              <span className={css["muted"]}>{isTerminal(transition.phase) ? "" : duration(segments[at]?.ms ?? 0)}</span>
            </li>
          ))}
        </ol>
      )}
      {!open && attempt.errorInfo && attempt.phase !== ActionPhase.SUCCEEDED && <p className={css["lost"]}>{firstLine(attempt.errorInfo.message)}</p>}
    </li>
  );
}

const firstLine = (message: string): string => message.trim().split("\n", 1)[0] ?? "";
