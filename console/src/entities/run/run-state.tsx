import { Hourglass } from "lucide-react";
import type { RunSummary } from "@gen/flytebinary/insight/v1/runs_pb.js";
import type { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { Phase, State } from "@/design/phase";
import { isLive, lookOf } from "@/design/phases";
import { sentenceOf, waitWords } from "./waits";
import css from "./progress.module.css";

export interface RunStateProps {
  readonly phase: ActionPhase;
  readonly summary: RunSummary | undefined;
}

/** What an unfinished run waits for, or else its phase. A run of which only a part waits has its phase. */
export function RunState({ phase, summary }: RunStateProps) {
  const [first] = summary?.waits ?? [];
  if (!first?.wait || summary?.waiting !== true || !isLive(phase)) return <Phase phase={phase} />;
  return (
    <span className={css["state"]} title={sentenceOf(first.wait)} data-testid="waits-for">
      <State look={{ key: "waiting", label: waitWords(first), icon: Hourglass, colour: lookOf(phase).key === "paused" ? "--phase-paused" : "--phase-waiting" }} />
    </span>
  );
}
