import type { Place } from "@/app/place";
import { shellWord } from "@/app/shell-word";
import { partsOf, type Node, type Term } from "./node";
import { tryQuery } from "./parse";

const phaseOptions: Readonly<Record<string, string>> = { waiting: "waiting_for_resources", "timed-out": "timed_out" };

/**
 * The command of the released CLI that lists the same runs; undefined if it cannot express the query. It has one phase, exact names
 * of tasks, labels, and times of creation, all of which must hold.
 */
export function asGetRun(place: Place, query: string, now: number): string | undefined {
  const answer = tryQuery(query);
  if ("problem" in answer) return undefined;
  const options = optionsOf(answer.node, now);
  return options && ["flyte get run", `-p ${shellWord(place.project)}`, `-d ${shellWord(place.domain)}`, ...options].join(" ");
}

function optionsOf(node: Node, now: number): readonly string[] | undefined {
  const options = new Map<string, string>();
  for (const part of partsOf(node)) {
    const option = part.kind === "term" ? optionOf(part.term, now) : undefined;
    if (option === undefined) return undefined;
    const name = option.split(" ")[0] ?? "";
    // Only labels may be there twice.
    const key = name.startsWith("--with-label") ? option : name;
    if (options.has(key) && options.get(key) !== option) return undefined;
    options.set(key, option);
  }
  return [...options.values()];
}

function optionOf(term: Term, now: number): string | undefined {
  const [value = "", ...others] = term.values ?? [];
  switch (term.key) {
    case "phase":
      return others.length === 0 ? `--in-phase ${phaseOptions[value] ?? value}` : undefined;
    case "is":
      return others.length === 0 && value === "paused" ? "--paused-only" : undefined;
    case "owner":
      return others.length === 0 && value === "me" ? "--only-mine" : undefined;
    case "task":
      return term.op === "=" ? `--task-name ${shellWord(term.text)}` : undefined;
    case "label":
      if (term.name?.includes("=")) return undefined;
      return term.op === "?" ? `--with-label-key ${shellWord(term.name ?? "")}` : `--with-label ${shellWord(`${term.name ?? ""}=${term.text}`)}`;
    case "created": {
      const { moment } = term;
      if (!moment || (term.op !== ">=" && term.op !== "<")) return undefined;
      const at = new Date(Math.floor(("ago" in moment ? now - moment.ago : moment.at.getTime()) / 1000) * 1000).toISOString().replace(/\.\d+Z$/, "");
      return `${term.op === "<" ? "--created-before" : "--created-after"} ${at}`;
    }
    default:
      return undefined;
  }
}

/** The call of the API that lists the same runs. */
export const asCurlQuery = (place: Place, query: string, origin: string): string =>
  [
    "curl -sS -X POST",
    shellWord(`${origin}/flytebinary.insight.v1.RunQueryService/QueryRuns`),
    "-H 'Content-Type: application/json'",
    `-d ${shellWord(JSON.stringify({ projectId: { name: place.project, domain: place.domain }, query }))}`,
  ].join(" ");
