import { Link } from "@tanstack/react-router";
import { SlotState, type SlotOutcome } from "@gen/flytebinary/insight/v1/triggers_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { dateOf } from "@/design/format";
import { Phase } from "@/design/phase";
import { When } from "@/design/time";
import { t } from "@/texts/texts";
import { stateWords } from "./words";
import css from "./outcomes.module.css";

/** The latest runs of a trigger, oldest first, and when the last one was due. */
export function Outcomes({ latest }: { readonly latest: readonly SlotOutcome[] }) {
  const [last] = latest;
  if (!last) return t("None yet");
  return (
    <span className={css["outcomes"]}>
      {latest.toReversed().map((one) => (
        <Outcome key={`${one.slot?.time?.seconds ?? 0n}.${one.slot?.time?.nanos ?? 0}`} outcome={one} />
      ))}
      <When at={dateOf(last.slot?.time)} relative />
    </span>
  );
}

function Outcome({ outcome: { slot, phase } }: { readonly outcome: SlotOutcome }) {
  const run = slot?.runId;
  if (!run || phase === ActionPhase.UNSPECIFIED) {
    return <span title={slot?.reason}>{slot?.state === SlotState.STARTED ? t("Deleted") : stateWords(slot?.state ?? SlotState.UNSPECIFIED)}</span>;
  }
  return (
    <Link to="/domain/$domain/project/$project/runs/$run" params={{ domain: run.domain, project: run.project, run: run.name }} title={run.name}>
      <Phase phase={phase} compact />
    </Link>
  );
}
