import { phaseOfKey } from "@/design/phases";
import { RunsSearch, sources, type SearchPatch } from "./search";

/** Typed text as a search, with the words that were not understood. */
export interface Query {
  readonly patch: SearchPatch;
  readonly wrong: readonly string[];
}

/** The names that the server gives to runs. */
const generated = /^r[a-z0-9]{19}$/;

/**
 * Parses the text of the filter: "train owner:ada phase:failed,running label:team=ml since:24h source:cli is:paused".
 * Words without a key are a part of the name of a run or of its task. Quotes group words.
 */
export function parseQuery(typed: string, before: RunsSearch = {}): Query {
  const wrong: string[] = [];
  const words: string[] = [];
  let labels = before.labels ?? [];
  let patch: SearchPatch = {};
  for (const [, quotedKey, quoted, plain = ""] of typed.matchAll(/(?:([a-z]+):)?"([^"]*)"|(\S+)/g)) {
    const [, key = "", value = ""] = quoted === undefined ? (/^([a-z]+):(.+)$/s.exec(plain) ?? []) : ["", quotedKey ?? "", quoted];
    if (key === "") {
      words.push(quoted ?? plain);
    } else if (key === "label") {
      labels = [...labels, value];
      patch = { ...patch, labels };
    } else {
      const next = one(key, value);
      if (next === undefined) wrong.push(quoted === undefined ? plain : `${key}:"${quoted}"`);
      else patch = { ...patch, ...next };
    }
  }
  const bare = words.join(" ").trim();
  if (bare !== "") patch = { ...patch, ...(generated.test(bare) ? { q: bare } : { text: bare }) };
  return { patch, wrong };
}

function one(key: string, value: string): SearchPatch | undefined {
  switch (key) {
    case "name":
    case "run":
      return { q: value };
    case "task":
      return { task: value };
    case "owner":
    case "by":
      return { owner: value };
    case "phase":
      return value.split(",").every((each) => phaseOfKey(each) !== undefined) ? { phases: value } : undefined;
    case "source":
      return value.split(",").every((each) => sources.some(([known]) => known === each)) ? { source: value } : undefined;
    case "cluster":
      return { cluster: value };
    case "trigger":
      return { trigger: value };
    case "since":
      return RunsSearch({ since: value }).since === undefined ? undefined : { since: value };
    case "until":
      return RunsSearch({ until: value }).until === undefined ? undefined : { until: value };
    case "is":
      return value === "paused" ? { paused: true } : undefined;
    default:
      return undefined;
  }
}
