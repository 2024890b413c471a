import { ErrorInfo_Kind, type ErrorInfo } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { t } from "@/texts/texts";

/** The explanation of an error, and how to fix it. */
export interface Advice {
  /** The kind of error in a few words. */
  readonly title: string;
  /** What to do, most likely fix first. */
  readonly steps: readonly string[];
  /** The tab with more information. */
  readonly look?: "logs" | "pod" | "resources";
}

const memory: Advice = {
  title: t("Out of memory"),
  steps: [t("Request more memory in the resources of the task environment."), t("Or process less at once: use smaller batches, or stream the data.")],
  look: "resources",
};
const image: Advice = {
  title: t("Image pull failed"),
  steps: [
    t("Check the name and tag of the image, and that it was pushed."),
    t("Check that the cluster may pull it: the service account needs the credentials of the registry."),
  ],
  look: "pod",
};
const specification: Advice = {
  title: t("Invalid pod specification"),
  steps: [t("Correct the field that the message names, in the task environment or the pod template, then rerun.")],
  look: "pod",
};
const preempted: Advice = {
  title: t("Node preempted"),
  steps: [
    t("The task is not at fault, and this does not consume its retries."),
    t("If this keeps happening, use on-demand nodes or split the task."),
  ],
};
const platform: Advice = {
  title: t("Internal platform error"),
  steps: [t("Use Recover to rerun only what failed."), t("If it happens again, check the system page and the server log.")],
};
const process: Advice = {
  title: t("The process exited with an error"),
  steps: [t("Check the last lines of the log for the cause.")],
  look: "logs",
};
const code: Advice = {
  title: t("The task raised an exception"),
  steps: [t("Fix the code, then use Recover to rerun only what failed.")],
  look: "logs",
};
const deleted: Advice = {
  title: t("The pod was deleted"),
  steps: [t("Something deleted the pod (a user, a cleanup job or a policy). Check the namespace, then rerun.")],
};

/** By the error code of the server or the Python SDK. */
const byCode: Readonly<Record<string, Advice>> = {
  OOMKilled: memory,
  OOMError: memory,
  StorageExceeded: {
    title: t("Out of local disk space"),
    steps: [t("Request more disk in the resources of the task environment, or delete files that are no longer needed.")],
    look: "pod",
  },
  ContainerFailed: process,
  Signalled: process,
  SegmentationFault: {
    title: t("Native code crashed"),
    steps: [t("Check which library ran last, and whether its version fits the image.")],
    look: "logs",
  },
  ContainerStartError: {
    title: t("The container failed to start"),
    steps: [t("Check that the command exists in the image and is executable.")],
    look: "pod",
  },
  ImagePullBackOff: image,
  ErrImagePull: image,
  InvalidImageName: { ...image, title: t("Invalid image name"), steps: [t("Correct the image name in the task environment.")] },
  ErrImageNeverPull: { ...image, steps: [t("Load the image onto the node, or change the pull policy, which forbids pulling it.")] },
  ImageRegistryBusy: {
    title: t("Image registry unavailable"),
    steps: [t("Rerun later. If it happens often, use a mirror close to the cluster.")],
  },
  CreateContainerError: specification,
  CreateContainerConfigError: {
    ...specification,
    title: t("The pod refers to a missing object"),
    steps: [t("Create the secret or config map that the message names, or correct its name.")],
  },
  PrimaryContainerNotFound: specification,
  PodRefused: specification,
  PodForbidden: {
    title: t("The cluster forbids this pod"),
    steps: [
      t("The message names the rule: a quota, a policy or a missing permission."),
      t("Request less, wait until other pods have ended, or ask your platform admin to change the rule."),
    ],
    look: "pod",
  },
  PodTooLarge: { ...specification, title: t("The pod is too large"), steps: [t("Shorten the arguments and environment variables: pass large values as files.")] },
  BadTaskSpecification: specification,
  PodNotAllowed: {
    ...specification,
    title: t("This installation does not allow the pod"),
    steps: [t("Remove from the task what the message names, or ask your platform admin to allow it.")],
  },
  MAX_RUNTIME_EXCEEDED: {
    title: t("The attempt exceeded its timeout"),
    steps: [t("Check the log for what took so long."), t("If the task needs the time, raise max_runtime in its timeout.")],
    look: "logs",
  },
  DEADLINE_EXCEEDED: {
    title: t("The deadline for all attempts passed"),
    steps: [t("Raise the deadline of the task, or use fewer retries and shorter attempts.")],
  },
  QUEUED_TIMEOUT_EXCEEDED: {
    title: t("Queue timeout exceeded"),
    steps: [t("Raise max_queued_time of the task or the limits of its queue, or rerun when there is capacity.")],
  },
  TimedOut: { title: t("Timed out"), steps: [t("If the task needs the time, raise its timeout.")] },
  Interrupted: preempted,
  Killed: {
    title: t("Killed (SIGKILL, exit code 137)"),
    steps: [
      t("The likely causes are memory and crashes of native code. Check the last lines of the log."),
      t("If the log shows no cause, request more memory."),
    ],
    look: "logs",
  },
  Evicted: {
    ...preempted,
    title: t("Evicted: the node ran out of resources"),
    steps: [t("Request the memory and disk that the task needs, so that it is scheduled on a node that has them.")],
    look: "pod",
  },
  Preempted: preempted,
  NodeLost: { ...preempted, title: t("Node lost") },
  NodeRefusedPod: { ...preempted, title: t("The node refused the pod") },
  ResourceDeletedExternally: deleted,
  UnexpectedObjectDeletion: deleted,
  OutputsMissing: {
    title: t("The process ended before the task returned"),
    steps: [t("Check the code for calls that end the process, such as sys.exit, and the end of the log.")],
    look: "logs",
  },
  ErrorUnreadable: { ...process, title: t("The error of the task cannot be read") },
  SecretMissing: {
    title: t("A secret does not exist"),
    steps: [t("Create the secret that the message names, for this project and domain or for all. Then rerun."), t("Or correct its name in the secrets of the task.")],
  },
  SecretUnusable: {
    title: t("A secret cannot be used this way"),
    steps: [t("Correct how the task asks for the secret: the message says what is wrong. Then rerun.")],
  },
  NotListening: {
    title: t("The app does not listen"),
    steps: [t("Check that the app listens on the port that it declares, on all addresses and not only on localhost."), t("Check its log for errors at the start.")],
    look: "logs",
  },
  PortTaken: { title: t("The port is taken"), steps: [t("Choose another port for the app, or stop the program that uses this one.")] },
  NoRoom: { ...preempted, title: t("No node has room"), steps: [t("Request less, or wait until other pods have ended."), t("This does not consume retries of the task.")], look: "pod" },
  DownstreamSystemError: {
    title: t("The operator says that the task failed"),
    steps: [t("Find the member that failed in the logs of all pods."), t("Fix the code, then use Recover to rerun only what failed.")],
    look: "logs",
  },
  OperatorFailed: {
    title: t("The operator gave the task up"),
    steps: [t("Check the log of the operator: no pod of the task is to blame."), t("This does not consume retries of the task.")],
  },
  OperatorMissing: {
    title: t("The operator is no longer installed"),
    steps: [t("Ask your platform admin to install it again. The message names the kind of object that is missing.")],
  },
  WorkerLost: { ...preempted, title: t("The worker was lost") },
  WorkerOOMKilled: {
    title: t("The worker ran out of memory"),
    steps: [t("Request more memory in the resources of the environment."), t("Or lower the concurrency of its reuse policy, so that fewer tasks share a worker.")],
    look: "resources",
  },
  JobNotStarted: {
    title: t("The connector could not start the job"),
    steps: [t("Correct what the message names: the settings of the task, its inputs, or the credentials in its secrets. Then rerun.")],
  },
  JobFailed: {
    title: t("The job failed in the other system"),
    steps: [t("Find the cause in the message, in the log of the job, and in the system that ran it: see the links of the job."), t("Fix it, then use Recover to rerun only what failed.")],
    look: "logs",
  },
  JobAborted: {
    title: t("The job was stopped in the other system"),
    steps: [t("Find out who or what stopped it there: a person, a time limit or a quota. Then rerun.")],
  },
  JobLost: {
    title: t("The connector no longer knows the job"),
    steps: [t("Check whether the job was deleted in the other system, and the log of the connector."), t("This does not consume retries of the task.")],
  },
  MaxSystemFailuresExceeded: platform,
  TaskFailed: code,
  BadTaskInputs: { title: t("Invalid inputs"), steps: [t("Rerun with a different value for the input that the message names.")] },
};

const byKind: Partial<Record<ErrorInfo_Kind, Advice>> = { [ErrorInfo_Kind.USER]: code, [ErrorInfo_Kind.SYSTEM]: platform };

/** The prefix of a code that names the last cause as well. */
const tooManyFailures = "MaxSystemFailuresExceeded|";

/** The code of the cause: after too many system failures, the server appends the code of the last one. */
export const causeOf = (errorCode: string): string => (errorCode.startsWith(tooManyFailures) ? errorCode.slice(tooManyFailures.length) : errorCode);

/** The advice for an error; undefined if there is none for its code and kind. */
export function adviceOf(error: Pick<ErrorInfo, "code" | "kind">): Advice | undefined {
  const cause = causeOf(error.code);
  const advice = Object.hasOwn(byCode, cause) ? byCode[cause] : undefined;
  if (advice) return cause === error.code ? advice : { ...advice, title: t("{title}, in every attempt", { title: advice.title }) };
  // Other codes of user errors are names of exceptions.
  if (error.kind === ErrorInfo_Kind.USER && error.code) return { ...code, title: t("The task raised {code}", { code: error.code }) };
  return byKind[error.kind];
}

/** Whose error it is, as text; empty if the server does not say. */
export const kindOf = (kind: ErrorInfo_Kind): string =>
  kind === ErrorInfo_Kind.USER ? t("user error") : kind === ErrorInfo_Kind.SYSTEM ? t("system error") : "";
