import { ErrorInfo_Kind, type ErrorInfo } from "@gen/flyteidl2/workflow/run_definition_pb.js";

/** What to do about an error. */
export interface Advice {
  /** In a few words, what kind of trouble it is. */
  readonly title: string;
  /** What one can do, the likeliest first. */
  readonly steps: readonly string[];
  /** The tab in which to look. */
  readonly look?: "logs" | "pod";
}

const memory: Advice = {
  title: "It ran out of memory",
  steps: ["Ask for more memory in the resources of the task's environment.", "Or work on less at once: smaller batches, or a stream in place of a list."],
  look: "pod",
};
const image: Advice = {
  title: "Its image could not be had",
  steps: ["Check the name and tag of the image, and that it was pushed.", "Check that the cluster may pull it: the credentials of the registry belong to the service account."],
  look: "pod",
};
const specification: Advice = {
  title: "The cluster refuses the pod as it is specified",
  steps: ["The message names what is wrong. Correct it in the task's environment or pod template, and run it again."],
  look: "pod",
};
const taken: Advice = {
  title: "Its machine was taken away",
  steps: ["Nothing is wrong with the task: such losses do not count against its retries.", "If it happens often, ask for a machine that is not reclaimed, or make the attempts shorter."],
};
const engine: Advice = {
  title: "The installation is at fault",
  steps: ["Run it again; succeeded actions can be reused by recovering the run.", "If it happens again, look at the system page and the server's log."],
};
const process: Advice = {
  title: "The task's process ended with an error",
  steps: ["The last lines of the log usually say why."],
  look: "logs",
};
const code: Advice = {
  title: "The task's code raised an error",
  steps: ["The traceback in the log names the line.", "Mend it and run it again; succeeded actions can be reused by recovering the run."],
  look: "logs",
};

/** By the code of the error, as the server and the client for Python give them. */
const table: Readonly<Record<string, Advice>> = {
  OOMKilled: memory,
  OOMError: memory,
  StorageExceeded: { title: "It ran out of local disk", steps: ["Ask for more disk in the resources of the task's environment, or delete files that are no longer needed."], look: "pod" },
  ContainerFailed: process,
  Signalled: process,
  SegmentationFault: { title: "Native code crashed", steps: ["Look at which library was at work last, and whether its version fits the image."], look: "logs" },
  ContainerStartError: { title: "The container could not start its command", steps: ["Check that the command exists in the image and may be executed."], look: "pod" },
  ImagePullBackOff: image,
  ErrImagePull: image,
  InvalidImageName: { ...image, title: "The name of its image is not valid", steps: ["Correct the name of the image in the task's environment."] },
  ErrImageNeverPull: { ...image, steps: ["Put the image on the node, or change the pull policy that forbids to pull it."] },
  ImageRegistryBusy: { title: "The registry cannot serve the image for now", steps: ["Run it again later. A mirror near the cluster helps when this happens often."] },
  CreateContainerError: specification,
  CreateContainerConfigError: { ...specification, title: "The pod refers to something that does not exist", steps: ["Often it is a secret: the message names it. Create it, or correct its name."] },
  PrimaryContainerNotFound: specification,
  PodRefused: specification,
  PodForbidden: {
    title: "The cluster forbids this pod",
    steps: ["The message names the rule: a quota, a policy or a missing permission.", "Ask for less, wait until others have ended, or have the rule changed."],
    look: "pod",
  },
  PodTooLarge: { ...specification, steps: ["Make the arguments and the environment smaller: pass large values as files."] },
  BadTaskSpecification: specification,
  MAX_RUNTIME_EXCEEDED: { title: "The attempt ran longer than its timeout", steps: ["Look in the log at what took so long.", "If it needs the time, raise max_runtime in the task's timeout."], look: "logs" },
  DEADLINE_EXCEEDED: { title: "The deadline over all attempts passed", steps: ["Raise the deadline of the task, or have fewer retries and shorter attempts."] },
  QUEUED_TIMEOUT_EXCEEDED: { title: "It waited too long for its turn", steps: ["Raise max_queued_time of the task or the limits of its queue, or start it when there is room."] },
  TimedOut: { title: "Its time was over", steps: ["Raise the timeout if it needs the time."] },
  Interrupted: taken,
  Killed: { ...taken, title: "It was killed from outside", steps: ["Often its machine ran out of memory or went away. If it happens again, ask for more memory."], look: "pod" },
  Evicted: { ...taken, title: "The node ran short of resources and evicted it", steps: ["Ask for the memory and disk that it really needs, so that it is placed where there is room."], look: "pod" },
  Preempted: taken,
  NodeLost: taken,
  NodeRefusedPod: taken,
  ResourceDeletedExternally: { title: "Somebody deleted its pod", steps: ["Find out what deletes pods in its namespace: a person, a clean-up job or a policy. Then run it again."] },
  UnexpectedObjectDeletion: { title: "Somebody deleted its pod", steps: ["Find out what deletes pods in its namespace: a person, a clean-up job or a policy. Then run it again."] },
  OutputsMissing: { title: "It wrote no outputs", steps: ["Look in the log whether the process really came to its end, and could write to the storage."], look: "logs" },
  MaxSystemFailuresExceeded: engine,
  TaskFailed: code,
  BadTaskInputs: { title: "Its inputs do not fit", steps: ["The message names the input. Run it again with other inputs."] },
};

const byKind: Partial<Record<ErrorInfo_Kind, Advice>> = { [ErrorInfo_Kind.USER]: code, [ErrorInfo_Kind.SYSTEM]: engine };

/** What to do about an error; nothing when neither its code nor its kind says. */
export function adviceOf(error: Pick<ErrorInfo, "code" | "kind">): Advice | undefined {
  if (Object.hasOwn(table, error.code)) return table[error.code];
  // Other codes are the names of exceptions.
  if (error.kind === ErrorInfo_Kind.USER && error.code) return { ...code, title: `The task raised ${error.code}` };
  return byKind[error.kind];
}

export const kindOf = (kind: ErrorInfo_Kind): string =>
  kind === ErrorInfo_Kind.USER ? "from the task" : kind === ErrorInfo_Kind.SYSTEM ? "from the system" : "";
