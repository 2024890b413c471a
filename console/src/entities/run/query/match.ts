import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunSource, type Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { dateOf } from "@/design/format";
import { isTerminal, phaseOfKey } from "@/design/phases";
import { nameOf, ownerOf, phaseOf } from "../listed";
import { partsOf, type Node, type Op, type Term } from "./node";

const sourceOfKey: Readonly<Record<string, RunSource>> = {
  web: RunSource.WEB,
  cli: RunSource.CLI,
  schedule: RunSource.SCHEDULE_TRIGGER,
  artifact: RunSource.ARTIFACT_TRIGGER,
  tracked: RunSource.TRACKED,
};

/** What relative times count from, and who asks. */
export interface Asker {
  readonly now: number;
  readonly me: string;
}

const known = ["text", "name", "task", "version", "phase", "source", "trigger", "owner", "label", "created", "ended"];

/** Whether a run of a list has everything that the query is about. Errors, inputs, queues and pending approvals are not in lists, and durations grow. */
export const canMatch = (node: Node): boolean =>
  node.kind === "term"
    ? known.includes(node.term.key) || (node.term.key === "is" && node.term.values?.includes("paused") === false)
    : node.nodes.every(canMatch);

/** Whether a run matches, as the server decides it. Only for queries that lists can match. */
export function matchesQuery(node: Node, run: Run, asker: Asker): boolean {
  if (node.kind === "term") return matchesTerm(node.term, run, asker);
  const each = (part: Node) => matchesQuery(part, run, asker);
  if (node.kind === "not") return !node.nodes.some(each);
  return node.kind === "and" ? node.nodes.every(each) : node.nodes.some(each);
}

function matchesTerm(term: Term, run: Run, { now, me }: Asker): boolean {
  const { action, labels } = run;
  const spec = action?.metadata?.spec;
  const task = spec?.case === "task" ? spec.value.id : undefined;
  const values = term.values ?? [];
  const has = (text: string) => (term.op === "=" ? text === term.text : text.toLowerCase().includes(term.text.toLowerCase()));
  const at = (date: Date | undefined) => {
    if (!date || !term.moment) return false;
    return compares(term.op, date.getTime() - ("ago" in term.moment ? now - term.moment.ago : term.moment.at.getTime()));
  };
  const phase = phaseOf(run);
  switch (term.key) {
    case "text":
      return has(`${nameOf(run)} ${task?.name ?? ""}`);
    case "name":
      return has(nameOf(run));
    case "task":
      return has(task?.name ?? "");
    case "version":
      return values.includes(task?.version ?? "");
    case "phase":
      return values.some((value) => phaseOfKey(value) === phase);
    case "source":
      return values.some((value) => sourceOfKey[value] === action?.metadata?.source);
    case "trigger":
      return values.includes(action?.metadata?.triggerId?.name?.name ?? action?.metadata?.triggerName ?? "");
    case "owner":
      return values.some((value) => ownerOf(run) === (value === "me" ? me : value));
    case "label":
      return term.name !== undefined && term.name in labels && (term.op === "?" || labels[term.name] === term.text);
    case "is":
      return values.some((value) => (value === "ended") === isTerminal(phase) && phase !== ActionPhase.UNSPECIFIED);
    case "ended":
      return at(isTerminal(phase) ? dateOf(action?.status?.endTime) : undefined);
    default:
      return at(dateOf(action?.status?.startTime));
  }
}

function compares(op: Op, order: number): boolean {
  switch (op) {
    case "<":
      return order < 0;
    case "<=":
      return order <= 0;
    case ">":
      return order > 0;
    default:
      return order >= 0;
  }
}

/** Of which kinds runs can match: the installation's own, and those that clients report. */
export function kindsOf(node: Node): readonly ("own" | "tracked")[] {
  const terms = partsOf(node).flatMap((part) => (part.kind === "term" ? [part.term] : []));
  const sources = terms.filter(({ key }) => key === "source").map(({ values = [] }) => values);
  // No cluster or queue has tracked runs, and they wait for no approval.
  const elsewhere = terms.some(({ key, values }) => key === "cluster" || key === "queue" || (key === "is" && values?.join() === "paused"));
  return [
    ...(sources.every((values) => values.some((value) => value !== "tracked")) ? (["own"] as const) : []),
    ...(!elsewhere && sources.every((values) => values.includes("tracked")) ? (["tracked"] as const) : []),
  ];
}
