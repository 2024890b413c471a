import { durationMs } from "@bufbuild/protobuf/wkt";
import type { RunSummary, UsualDuration } from "@gen/flytebinary/insight/v1/runs_pb.js";
import type { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { usePreferences } from "@/app/preferences";
import { count, duration, moment } from "@/design/format";
import { PhaseBar } from "@/design/phase";
import { isLive } from "@/design/phases";
import { useNow } from "@/design/time";
import { t, tn } from "@/texts/texts";
import { countsOf, outlookOf, progressOf } from "./progress";
import css from "./progress.module.css";

export interface RunProgressProps {
  readonly summary: RunSummary | undefined;
  /** The phase of the root action. */
  readonly phase: ActionPhase;
}

/** How far an unfinished run is: a bar of its actions, "31 / 40", and when it probably ends. Nothing for a run that has ended. */
export function RunProgress({ summary, phase }: RunProgressProps) {
  if (!summary || !isLive(phase)) return null;
  const progress = progressOf(countsOf(summary.counts), phase);
  return (
    <span className={css["progress"]} data-testid="progress">
      {progress && (
        <>
          <PhaseBar counts={progress.counts} />
          <span title={tn(progress.all, "{done} of {n} action ended, without the root action", "{done} of {n} actions ended, without the root action", { done: count(progress.done) })}>
            {count(progress.done)} / {count(progress.all)}
          </span>
        </>
      )}
      <ExpectedEnd summary={summary} />
    </span>
  );
}

/** When an unfinished run probably ends, by earlier runs of its task; nothing without them. */
export function ExpectedEnd({ summary }: { readonly summary: RunSummary }) {
  const { zone } = usePreferences();
  const now = useNow(5000, summary.usual !== undefined);
  const outlook = outlookOf(summary, now);
  if (!outlook || !summary.usual) return null;
  const why = usualWords(summary.usual);
  if (outlook.kind === "late") {
    return (
      <span className={`${css["end"] ?? ""} ${css["late"] ?? ""}`} title={why} data-testid="expected-end">
        {t("longer than usual")}
      </span>
    );
  }
  return (
    <span className={css["end"]} title={why} data-testid="expected-end">
      {outlook.nine ? t("ends by") : t("ends about")} {moment(outlook.at, zone, new Date(now))}
    </span>
  );
}

const usualWords = ({ p50, p90, runs }: UsualDuration): string =>
  `${tn(runs, "Of the last {n} successful run of this task, half took at most {durationMs},", "Of the last {n} successful runs of this task, half took at most {durationMs},", { durationMs: duration(p50 ? durationMs(p50) : 0) })} ` +
  t("nine in ten at most {durationMs}.", { durationMs: duration(p90 ? durationMs(p90) : 0) });
