import {
  Ban,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CirclePlay,
  CircleX,
  History,
  Hourglass,
  LoaderCircle,
  TimerOff,
  type LucideIcon,
} from "lucide-react";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { t } from "@/texts/texts";

/** How a phase is shown: label, icon and color, so that none of them alone carries the meaning. */
export interface PhaseLook {
  readonly phase: ActionPhase;
  /** Its name in URLs and saved views. */
  readonly key: string;
  readonly label: string;
  readonly icon: LucideIcon;
  /** The CSS custom property with its color. */
  readonly colour: string;
  readonly terminal: boolean;
}

const look = (phase: ActionPhase, key: string, label: string, icon: LucideIcon, terminal = false): PhaseLook => ({
  phase,
  key,
  label,
  icon,
  colour: `--phase-${key}`,
  terminal,
});

/** The phases in display order. */
export const phases: readonly PhaseLook[] = [
  look(ActionPhase.FAILED, "failed", t("Failed"), CircleX, true),
  look(ActionPhase.TIMED_OUT, "timed-out", t("Timed out"), TimerOff, true),
  look(ActionPhase.ABORTED, "aborted", t("Aborted"), Ban, true),
  look(ActionPhase.PAUSED, "paused", t("Paused"), CirclePause),
  look(ActionPhase.RUNNING, "running", t("Running"), CirclePlay),
  look(ActionPhase.INITIALIZING, "initializing", t("Initializing"), LoaderCircle),
  look(ActionPhase.WAITING_FOR_RESOURCES, "waiting", t("Waiting for resources"), Hourglass),
  look(ActionPhase.QUEUED, "queued", t("Queued"), CircleDashed),
  look(ActionPhase.RECOVERED, "recovered", t("Recovered"), History, true),
  look(ActionPhase.SUCCEEDED, "succeeded", t("Succeeded"), CircleCheck, true),
];

const unknown = look(ActionPhase.UNSPECIFIED, "queued", t("Unknown"), CircleDashed);
const byPhase = new Map(phases.map((p) => [p.phase, p]));
const byKey = new Map(phases.map((p) => [p.key, p]));

export const lookOf = (phase: ActionPhase): PhaseLook => byPhase.get(phase) ?? unknown;
export const phaseOfKey = (key: string): ActionPhase | undefined => byKey.get(key)?.phase;
export const isTerminal = (phase: ActionPhase): boolean => lookOf(phase).terminal;
/** Whether the action is active: its duration still grows. */
export const isLive = (phase: ActionPhase): boolean => !isTerminal(phase) && phase !== ActionPhase.UNSPECIFIED;
export const isFailure = (phase: ActionPhase): boolean => phase === ActionPhase.FAILED || phase === ActionPhase.TIMED_OUT;
