import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { RunQueryService } from "@gen/flytebinary/insight/v1/queries_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { Input } from "@/design/field";
import { count } from "@/design/format";
import { kindsOf } from "@/entities/run/query/match";
import type { QueryProblem } from "@/entities/run/query/node";
import { maxLength, tryQuery } from "@/entities/run/query/parse";
import { t } from "@/texts/texts";
import { typingAt, useSuggestions, type Suggestion } from "./suggestions";
import css from "./query-input.module.css";

export interface QueryInputProps {
  readonly place: Place;
  /** The query that is shown. */
  readonly query: string;
  readonly onQuery: (query: string) => void;
}

/** How long the text must be unchanged before its runs are counted, in milliseconds. */
const settled = 300;

/** The query as text: with suggestions, the number of runs while it is typed, and what is wrong with it. */
export function QueryInput({ place, query, onQuery }: QueryInputProps) {
  const [text, setText] = useState(query);
  const [shown, setShown] = useState(query);
  const [caret, setCaret] = useState<number>();
  const [chosen, setChosen] = useState(-1);
  const [problem, setProblem] = useState<QueryProblem>();
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  if (shown !== query) {
    setShown(query);
    setText(query);
    setProblem(undefined);
  }
  const typing = caret === undefined ? undefined : typingAt(text, caret);
  const suggestions = useSuggestions(place, typing);
  const close = () => {
    setCaret(undefined);
    setChosen(-1);
  };
  const type = (next: string, at: number) => {
    setText(next);
    setCaret(at);
    setChosen(-1);
    if (problem) setProblem(undefined);
  };
  const take = ({ text: words }: Suggestion) => {
    if (!typing || caret === undefined) return;
    const done = !/[:=>]$/.test(words);
    const next = `${text.slice(0, typing.start)}${words}${done ? " " : ""}`;
    type(next + text.slice(caret).trimStart(), next.length);
    if (done) close();
    requestAnimationFrame(() => input.current?.setSelectionRange(next.length, next.length));
  };
  const submit = (given = text) => {
    const answer = tryQuery(given);
    close();
    if ("problem" in answer) setProblem(answer.problem);
    else onQuery(given.trim());
  };
  const onKey = (event: KeyboardEvent) => {
    const count = suggestions.length;
    if (event.key === "ArrowDown" && count > 0) setChosen((chosen + 1) % count);
    else if (event.key === "ArrowUp" && count > 0) setChosen((chosen + count - 1) % count);
    else if (event.key === "Escape" && caret !== undefined) close();
    else if (event.key === "Tab" && !event.shiftKey && typing?.word && suggestions[Math.max(chosen, 0)]) take(suggestions[Math.max(chosen, 0)] as Suggestion);
    else if (event.key === "Enter" && suggestions[chosen]) take(suggestions[chosen]);
    else return;
    event.preventDefault();
  };
  const open = caret !== undefined && suggestions.length > 0;
  return (
    <form
      className={css["form"]}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Input
        ref={input}
        type="search"
        role="combobox"
        data-filter
        aria-label={t("Filter runs")}
        aria-expanded={open}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        {...(open && chosen >= 0 && { "aria-activedescendant": `${id}-${chosen}` })}
        aria-invalid={problem !== undefined}
        {...(problem && { "aria-describedby": `${id}-problem` })}
        placeholder={t("train phase:failed error:KeyError duration>5m -label:team=ml or owner:me")}
        title={t("Press / to focus. A word is a part of the name of a run or of its task.")}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={maxLength}
        value={text}
        onChange={({ target }) => {
          type(target.value, target.selectionStart ?? target.value.length);
          // The cross of a search field, and an emptied one, show all runs.
          if (target.value === "" && query !== "") submit("");
        }}
        onKeyDown={onKey}
        onBlur={close}
      />
      <Count place={place} text={text} query={query} />
      {open && (
        <ul id={`${id}-list`} role="listbox" aria-label={t("Suggestions")} className={css["suggestions"]}>
          {suggestions.map((suggestion, at) => (
            // eslint-disable-next-line jsx-a11y/click-events-have-key-events -- the keys are those of the text
            <li
              key={suggestion.text}
              id={`${id}-${at}`}
              role="option"
              aria-selected={at === chosen}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => take(suggestion)}
            >
              <code>{suggestion.text}</code>
              {suggestion.about && <span>{suggestion.about}</span>}
            </li>
          ))}
        </ul>
      )}
      {problem && <Wrong id={`${id}-problem`} problem={problem} text={text} onFix={(next) => type(next, next.length)} />}
    </form>
  );
}

/** What is wrong, and the word that was probably meant. */
interface WrongProps {
  readonly id: string;
  readonly problem: QueryProblem;
  readonly text: string;
  readonly onFix: (text: string) => void;
}

function Wrong({ id, problem, text, onFix }: WrongProps) {
  const { at, word, message, nearest } = problem;
  const runes = Array.from(text);
  const fix = () => {
    const [, before = "", rest = ""] = /^([A-Za-z-]+)([:=<>].*)$/s.exec(word) ?? [];
    // The nearest is a key, or one of the values after the key.
    const known = message.startsWith("There is no key");
    const values = rest
      .slice(1)
      .split(",")
      .map((value) => (message.includes(`"${value.toLowerCase().replaceAll("_", "-")}"`) ? nearest : value));
    const fixed = known ? `${nearest}${rest}` : `${before}${rest.slice(0, 1)}${values.join(",")}`;
    onFix([...runes.slice(0, at - 1), fixed, ...runes.slice(at - 1 + Array.from(word).length)].join(""));
  };
  return (
    <p id={id} role="alert" className={css["wrong"]}>
      {t("At {position}", { position: at })}
      {word && (
        <>
          , <code>{word}</code>
        </>
      )}
      : {message}{" "}
      {nearest && (
        <>
          {t("Did you mean")}{" "}
          <button type="button" className={css["fix"]} onClick={fix}>
            {nearest}
          </button>
          ?
        </>
      )}
    </p>
  );
}

/** How many runs the text finds, while it is not the query that is shown. */
function Count({ place, text, query }: { readonly place: Place; readonly text: string; readonly query: string }) {
  const [wanted, setWanted] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setWanted(text.trim()), settled);
    return () => clearTimeout(timer);
  }, [text]);
  const parsed = tryQuery(wanted);
  const enabled = wanted === text.trim() && wanted !== "" && wanted !== query && "node" in parsed;
  const { data } = useQuery({
    queryKey: ["count", place.project, place.domain, wanted],
    queryFn: async ({ signal }) => {
      const kinds = "node" in parsed ? kindsOf(parsed.node) : [];
      const projectId = { name: place.project, domain: place.domain };
      const answers = await Promise.all(kinds.map((kind) => client(RunQueryService).countRuns({ projectId, query: wanted, tracked: kind === "tracked" }, { signal })));
      return { runs: answers.reduce((sum, answer) => sum + answer.count, 0), more: answers.some(({ more }) => more) };
    },
    enabled,
    staleTime: 5000,
    retry: false,
  });
  if (!enabled || !data) return null;
  return (
    <span role="status" className={css["count"]} data-testid="query-count">
      {count(data.runs)}
      {data.more ? "+" : ""} {data.runs === 1 && !data.more ? t("run") : t("runs")} <kbd>↵</kbd>
    </span>
  );
}
