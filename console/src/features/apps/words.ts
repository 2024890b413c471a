import { CircleCheck, CircleDashed, CircleStop, CircleX, LoaderCircle, Moon } from "lucide-react";
import {
  Spec_DesiredState,
  Status_DeploymentStatus as Deployment,
  Status_Substate as Substate,
  type App,
  type AutoscalingConfig,
} from "@gen/flyteidl2/app/app_definition_pb.js";
import { AppRevisionState } from "@gen/flytebinary/insight/v1/apps_pb.js";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { duration } from "@/design/format";
import type { Look } from "@/design/phase";
import { t } from "@/texts/texts";
import type { AppState } from "./search";

/** The state of an app, as the console shows it. */
export interface Shown {
  readonly look: Look;
  /** More about the state; may be empty. */
  readonly detail: string;
}

const look = (key: string, label: string, icon: Look["icon"], colour: string): Look => ({ key, label, icon, colour: `--phase-${colour}` });

const looks: Record<AppState, Look> = {
  active: look("active", t("Active"), CircleCheck, "succeeded"),
  deploying: look("deploying", t("Deploying"), LoaderCircle, "initializing"),
  pending: look("pending", t("Pending"), CircleDashed, "waiting"),
  stopped: look("stopped", t("Stopped"), CircleStop, "aborted"),
  failed: look("failed", t("Failed"), CircleX, "failed"),
};
const asleep = look("asleep", t("Scaled to zero"), Moon, "queued");
const unknown = look("unknown", t("Unknown"), CircleDashed, "queued");

// Clients of other versions may still send the states that are deprecated.
/* eslint-disable @typescript-eslint/no-deprecated -- see above */
const states: Record<AppState, readonly Deployment[]> = {
  active: [Deployment.ACTIVE, Deployment.STARTED, Deployment.SCALING_DOWN],
  deploying: [Deployment.DEPLOYING, Deployment.SCALING_UP],
  pending: [Deployment.PENDING, Deployment.UNASSIGNED, Deployment.ASSIGNED],
  stopped: [Deployment.STOPPED],
  failed: [Deployment.FAILED],
};
/* eslint-enable @typescript-eslint/no-deprecated -- see above */

const names = Object.keys(states) as AppState[];

export const stateOf = (status: Deployment): AppState | undefined => names.find((name) => states[name].includes(status));
export const stateWords = (state: AppState): string => looks[state].label;
/** The names of a state's deployment statuses, as filters have them. */
export const statusNames = (state: AppState): string[] => states[state].map((status) => `DEPLOYMENT_STATUS_${Deployment[status]}`);

const substates: Record<Substate, string> = {
  [Substate.SUBSTATE_UNSPECIFIED]: "",
  [Substate.PULLING_IMAGE]: t("pulling the image"),
  [Substate.INITIALIZING]: "starting",
  [Substate.WEBHOOK_ERROR]: t("rejected by an admission webhook"),
  [Substate.IMAGE_PULL_ERROR]: t("cannot pull the image"),
  [Substate.SECRET_MOUNT_ERROR]: t("a secret is missing"),
  [Substate.CRASH_LOOP]: t("crashes repeatedly"),
  [Substate.OOM_KILLED]: t("out of memory"),
  [Substate.RUNNING]: "",
  [Substate.SCALED_TO_ZERO]: t("starts on the next request"),
  [Substate.SCALING_FROM_ZERO]: t("starting a replica for a request"),
  [Substate.SCALING_UP]: t("adding replicas"),
  [Substate.SCALING_DOWN]: t("removing replicas"),
};

/** How a status and its substate are shown. */
export function shownAs(status: Deployment, substate: Substate): Shown {
  const state = stateOf(status);
  const base = state === undefined ? unknown : looks[state];
  return { look: state === "active" && substate === Substate.SCALED_TO_ZERO ? asleep : base, detail: substates[substate] };
}

/** How an app is shown: by its last condition, for conditions are in the order of time. */
export function shownOf(app: App | undefined): Shown {
  const last = app?.status?.conditions.at(-1);
  return shownAs(last?.deploymentStatus ?? Deployment.UNSPECIFIED, last?.substate ?? Substate.SUBSTATE_UNSPECIFIED);
}

/** Whether the state will change without anybody's doing. */
export const isPassing = ({ look }: Shown): boolean => look.key === "deploying" || look.key === "pending";

/** Whether its owner wants it to run. */
export const isWanted = (app: App | undefined): boolean => app?.spec?.desiredState !== Spec_DesiredState.STOPPED;

const revisions: Record<AppRevisionState, string> = {
  [AppRevisionState.UNSPECIFIED]: t("Unknown"),
  [AppRevisionState.STARTING]: t("Starting"),
  [AppRevisionState.SERVING]: t("Serving"),
  [AppRevisionState.FAILED]: t("Failed"),
  [AppRevisionState.REPLACED]: t("Replaced"),
};

export const revisionWords = (state: AppRevisionState): string => revisions[state];

/** The limits of the number of replicas: "1", "0 to 3". */
export function rangeOf(scaling: AutoscalingConfig | undefined): string {
  const { min = 0, max = 0 } = scaling?.replicas ?? {};
  return min === max ? String(min) : t("{min} to {max}", { min, max: Math.max(min, max) });
}

/** By what the number of replicas is chosen, in words. */
export function scalingWords(scaling: AutoscalingConfig | undefined): string {
  const metric = scaling?.scalingMetric?.metric;
  switch (metric?.case) {
    case "concurrency":
      return t("{targetValue} requests at a time per replica", { targetValue: metric.value.targetValue });
    case "requestRate":
      return t("{targetValue} requests/s per replica", { targetValue: metric.value.targetValue });
    default:
      return "";
  }
}

export const spanWords = (span: Parameters<typeof durationMs>[0] | undefined): string => (span ? duration(durationMs(span)) : "");
