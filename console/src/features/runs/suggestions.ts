import { useQuery } from "@tanstack/react-query";
import { RunQueryService } from "@gen/flytebinary/insight/v1/queries_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { quoted } from "@/entities/run/query/quoted";
import { keys, phaseKeys, sourceKeys, stateKeys, synonyms } from "@/entities/run/query/words";

/** What can be typed at a place of a query. */
export interface Suggestion {
  /** What replaces the word. */
  readonly text: string;
  readonly about: string;
}

/** The word that ends at the caret, without a minus or parentheses before it. */
export interface Typing {
  readonly start: number;
  readonly word: string;
  /** The key and the value as far as they are typed; undefined before a key is complete. */
  readonly value: { readonly key: string; readonly part: string } | undefined;
}

export function typingAt(text: string, caret: number): Typing {
  const before = text.slice(0, caret);
  let start = caret;
  let quoted = (before.split('"').length - 1) % 2 === 1;
  for (; start > 0; start--) {
    const char = before[start - 1] ?? "";
    if (char === '"') quoted = !quoted;
    else if (!quoted && /[\s(]/.test(char)) break;
  }
  while (text[start] === "-") start++;
  const word = before.slice(start);
  const [, key, part] = /^([A-Za-z]+)[:=](.*)$/s.exec(word) ?? [];
  return { start, word, value: key === undefined ? undefined : { key: key.toLowerCase(), part: (part ?? "").replaceAll('"', "") } };
}

const known: Readonly<Record<string, readonly string[]>> = {
  phase: phaseKeys,
  source: sourceKeys,
  is: stateKeys,
  owner: ["me"],
  since: ["1h", "24h", "7d", "30d"],
  created: ["24h", "7d"],
  duration: [],
};

/** Keys of which the server knows values. */
const asked = ["task", "version", "trigger", "owner", "cluster", "queue", "label"];

/** The alternatives before the last comma stay. */
function lastOf(part: string): readonly [before: string, last: string] {
  const at = part.lastIndexOf(",") + 1;
  return [part.slice(0, at), part.slice(at)];
}

export function suggestionsOf({ word, value }: Typing, found: readonly string[]): readonly Suggestion[] {
  if (!value) {
    const typed = word.toLowerCase();
    if (typed === "") return [];
    return keys.filter(([key, about]) => about !== "" && key.startsWith(typed)).map(([key, about]) => ({ text: key === "duration" ? `${key}>` : `${key}:`, about }));
  }
  const key = synonyms.get(value.key) ?? value.key;
  const [before, last] = key === "label" || key === "task" ? ["", value.part] : lastOf(value.part);
  const own = (known[key] ?? []).filter((one) => one.startsWith(last.toLowerCase()) && one !== last);
  return [...new Set([...own, ...found.filter((one) => one !== last)])].slice(0, 10).map((one) => {
    const operator = key === "task" ? "=" : ":";
    return { text: `${value.key}${operator}${before}${quoted(one)}`, about: "" };
  });
}

/** The suggestions at the caret; values come from the newest runs of the place. */
export function useSuggestions(place: Place, typing: Typing | undefined): readonly Suggestion[] {
  const key = typing?.value && (synonyms.get(typing.value.key) ?? typing.value.key);
  const part = key === "label" || key === "task" ? (typing?.value?.part ?? "") : lastOf(typing?.value?.part ?? "")[1];
  const { data } = useQuery({
    queryKey: ["suggestions", place.project, place.domain, key, part],
    queryFn: ({ signal }) =>
      client(RunQueryService).suggestValues({ projectId: { name: place.project, domain: place.domain }, key: key ?? "", part: part.slice(0, 200) }, { signal }),
    enabled: key !== undefined && asked.includes(key),
    staleTime: 60_000,
    retry: false,
  });
  return typing ? suggestionsOf(typing, data?.values ?? []) : [];
}
