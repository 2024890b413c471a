import { Code } from "@connectrpc/connect";
import { createQueryOptions, useQuery, useTransport } from "@connectrpc/connect-query";
import { useQueries } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { ArrowLeftRight, Plus } from "lucide-react";
import { useCallback, useEffect, useMemo, useState } from "react";
import { DataProxyService } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import type { NamedLiteral } from "@gen/flyteidl2/task/common_pb.js";
import type { RunDetails } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { usePreferences } from "@/app/preferences";
import type { Place } from "@/app/place";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import { Diff } from "@/design/diff";
import { Loading, ProblemNotice } from "@/design/notice";
import { valueOf } from "@/entities/value/value";
import { json } from "@/entities/value/write-json";
import { serviceOf, sourceOf } from "@/entities/run/kind";
import { useRunDetails } from "@/entities/run/use-run";
import type { RunName } from "@/entities/run/kind";
import { runOfKey } from "@/entities/run/listed";
import { t } from "@/texts/texts";
import { CodeDiff } from "./code-diff";
import { markOf, metricsOf, rowsOf, textsOf } from "./columns";
import { factsOf } from "./facts";
import { measuredOf } from "./measured";
import { Plotted, PlottedQuery } from "./plotted";
import { RunPicker } from "./run-picker";
import { Scatter } from "./scatter";
import { keysOf, mostRuns, plottedOf, searchOf, type CompareSearch } from "@/entities/run/comparison";
import { Columns, type ColumnsProps } from "./several";
import { Side } from "./side";
import { Stored } from "./stored";
import { Timings } from "./timings";
import css from "./compare.module.css";

/** Runs in columns: properties, inputs, outputs and metrics; of two of them the code, why one took longer, and durations. */
export function ComparePage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const search: CompareSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const place = useMemo(() => ({ project, domain }), [project, domain]);
  const keys = keysOf(search);
  const enough = search.a !== undefined && search.b !== undefined && keys.length >= 2;
  const plots = search.query !== undefined || search.plot !== undefined;
  const title = plots ? t("Plot of runs") : t("Compare runs");
  useTitle(enough ? keys.map((key) => runOfKey(place, key).name).join(", ") : "", title);
  const go = (next: CompareSearch) => void navigate({ to: "/domain/$domain/project/$project/compare", params: place, search: next });
  const [picking, setPicking] = useState(false);
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1>{title}</h1>
        {enough && keys.length === 2 && (
          <Button small onClick={() => go(searchOf([...keys].reverse()))}>
            <ArrowLeftRight size={14} aria-hidden /> {t("Swap")}
          </Button>
        )}
        {enough && keys.length < mostRuns && (
          <Button small aria-pressed={picking} onClick={() => setPicking(!picking)}>
            <Plus size={14} aria-hidden /> {t("Add a run")}
          </Button>
        )}
      </div>
      {search.query !== undefined && <PlottedQuery place={place} query={search.query} />}
      {search.query === undefined && search.plot !== undefined && <Plotted place={place} names={plottedOf(search)} />}
      {enough && picking && (
        <RunPicker
          place={place}
          title={t("Run to add")}
          task={undefined}
          without={keys[0]}
          onPick={(picked) => {
            setPicking(false);
            go(searchOf([...keys, picked]));
          }}
        />
      )}
      {enough ? (
        <Compared key={keys.join("/")} place={place} keys={keys} onDrop={(at) => go(keys.length > 2 ? searchOf(keys.filter((_, n) => n !== at)) : at === 0 ? { b: keys[1] ?? "" } : { a: keys[0] ?? "" })} />
      ) : plots ? null : (
        <Missing place={place} a={search.a} b={search.b} go={go} />
      )}
    </div>
  );
}

function Missing({
  place,
  a,
  b,
  go,
}: {
  readonly place: Place;
  readonly a: string | undefined;
  readonly b: string | undefined;
  readonly go: (search: CompareSearch) => void;
}) {
  const other = a ?? b;
  const known = runOfKey(place, other ?? "");
  const details = useQuery(serviceOf(known).method.getRunDetails, { runId: { ...place, name: known.name } }, { enabled: other !== undefined });
  const task = details.data?.details?.action?.metadata?.spec;
  const name = task?.case === "task" ? task.value.id?.name : undefined;
  return (
    <div className={css["sides"]}>
      {(["a", "b"] as const).map((side) => {
        const chosen = side === "a" ? a : b;
        return chosen === undefined ? (
          <RunPicker
            key={side}
            place={place}
            title={other === undefined ? (side === "a" ? t("First run") : t("Second run")) : t("Run to compare with {name}", { name: known.name })}
            task={name}
            without={other}
            onPick={(picked) => go(side === "a" ? { a: picked, ...(b !== undefined && { b }) } : { ...(a !== undefined && { a }), b: picked })}
          />
        ) : (
          <Chosen key={side} run={runOfKey(place, chosen)} mark={side} onDrop={() => go({})} />
        );
      })}
    </div>
  );
}

function Chosen({ run, mark, onDrop }: { readonly run: RunName; readonly mark: "a" | "b"; readonly onDrop: () => void }) {
  const { state, problem } = useRunDetails(run);
  return (
    <div>
      {problem && <ProblemNotice error={problem} />}
      <Side run={run} mark={mark} details={state} onDrop={onDrop} />
    </div>
  );
}

interface ComparedProps {
  readonly place: Place;
  readonly keys: readonly string[];
  readonly onDrop: (at: number) => void;
}

function Compared({ place, keys, onDrop }: ComparedProps) {
  const runs = useMemo(() => keys.map((key) => runOfKey(place, key)), [place, keys]);
  const [details, setDetails] = useState<Readonly<Record<number, RunDetails>>>({});
  const [absent, setAbsent] = useState<ReadonlySet<number>>(new Set());
  const [chosen, setChosen] = useState(1);
  const know = useCallback((at: number, one: RunDetails) => setDetails((before) => ({ ...before, [at]: one })), []);
  const miss = useCallback((at: number) => setAbsent((before) => new Set([...before, at])), []);
  const all = runs.map((_, at) => details[at]);
  const [a] = runs;
  const b = runs[chosen] ?? runs[1];
  if (!a || !b) return null;
  const marks = ["A", markOf(chosen)] as const;
  return (
    <>
      <div className={css["sides"]} data-many={runs.length > 2 || undefined}>
        {runs.map((run, at) => (
          <Followed key={keys[at]} run={run} at={at} onKnown={know} onAbsent={miss} onDrop={() => onDrop(at)} />
        ))}
      </div>
      {all.every((one) => one !== undefined) && <Differences details={all} />}
      {absent.size === 0 && <Values runs={runs} />}
      {runs.length > 2 && (
        <div className={css["head"]} role="group" aria-label={t("Run to compare with A")}>
          <h2>{t("A and {run}", { run: markOf(chosen) })}</h2>
          {runs.slice(1).map((run, at) => (
            <Button key={keys[at + 1]} small kind={chosen === at + 1 ? "primary" : "plain"} aria-pressed={chosen === at + 1} onClick={() => setChosen(at + 1)}>
              {markOf(at + 1)} {run.name}
            </Button>
          ))}
        </div>
      )}
      {/* Of a run that does not exist, its own notice says so; no second one flashes up. */}
      {details[0] && details[chosen] && !absent.has(0) && !absent.has(chosen) && (
        <>
          <Data key={`data ${chosen}`} a={a} b={b} two={runs.length === 2} />
          <CodeDiff key={`code ${chosen}`} a={a} b={b} marks={marks} />
          <Timings key={`timings ${chosen}`} a={a} b={b} marks={marks} />
        </>
      )}
    </>
  );
}

interface FollowedProps {
  readonly run: RunName;
  readonly at: number;
  readonly onKnown: (at: number, details: RunDetails) => void;
  readonly onAbsent: (at: number) => void;
  readonly onDrop: () => void;
}

/** A run of the comparison, which is followed: its details go to the columns. */
function Followed({ run, at, onKnown, onAbsent, onDrop }: FollowedProps) {
  const { state, problem } = useRunDetails(run);
  useEffect(() => {
    if (state) onKnown(at, state);
  }, [at, state, onKnown]);
  const absent = problem?.code === Code.NotFound;
  useEffect(() => {
    if (absent) onAbsent(at);
  }, [at, absent, onAbsent]);
  return (
    <div>
      {problem && <ProblemNotice error={problem} />}
      <Side run={run} mark={markOf(at).toLowerCase()} details={state} onDrop={onDrop} />
    </div>
  );
}

/** The properties and labels that differ, and on demand the others. */
function Differences({ details }: { readonly details: readonly RunDetails[] }) {
  const { zone } = usePreferences();
  const [all, setAll] = useState(false);
  const rows = useMemo(() => rowsOf(details.map((one) => factsOf(one, zone))), [details, zone]);
  const same = rows.filter((row) => row.same).length;
  const shown = all ? rows : rows.filter((row) => !row.same);
  return (
    <section className={css["section"]} data-testid="compare-facts">
      <div className={css["head"]}>
        <h2>{t("Differences")}</h2>
        <Button small aria-pressed={all} onClick={() => setAll(!all)}>
          {all ? t("Show differences only") : t("Show all ({count} unchanged)", { count: same })}
        </Button>
      </div>
      <Columns label={t("Differences")} what={t("Property")} rows={shown} runs={details.length} mark={all} />
    </section>
  );
}

/** The numbers in the outputs of the runs, and of more than two runs their inputs and outputs as well. */
function Values({ runs }: { readonly runs: readonly RunName[] }) {
  const transport = useTransport();
  const answers = useQueries({ queries: runs.map((run) => createQueryOptions(DataProxyService.method.getActionData, dataOf(run), { transport })) });
  const read = answers.map(({ data }) => data);
  if (answers.some(({ isPending }) => isPending)) return <Loading what={t("values")} />;
  const metrics = rowsOf(read.map((data) => metricsOf(data?.outputs?.literals)));
  const unread = answers.flatMap(({ error }, at) => (error ? [markOf(at)] : []));
  return (
    <>
      {unread.length > 0 && <p className={css["muted"]}>{t("The data of {unread} cannot be read.", { unread: unread.join(", ") })}</p>}
      {runs.length > 2 && (
        <>
          <Section title={t("Inputs")} what={t("Input")} rows={rowsOf(read.map((data) => textsOf(data?.inputs?.literals)))} runs={runs.length} />
          <Section title={t("Outputs")} what={t("Output")} rows={rowsOf(read.map((data) => textsOf(data?.outputs?.literals)))} runs={runs.length} />
        </>
      )}
      {metrics.length > 0 && <Section title={t("Metrics")} what={t("Number")} rows={metrics} runs={runs.length} numbers />}
      {runs.length > 2 && runs[0] && runs.every(({ tracked }) => tracked !== true) && (
        <section className={css["section"]} data-testid="compare-plot">
          <h2>{t("Plot")}</h2>
          <Scatter place={runs[0]} runs={runs.map(({ name }, at) => measuredOf(name, read[at]?.inputs?.literals, read[at]?.outputs?.literals))} />
        </section>
      )}
    </>
  );
}

function Section({ title, ...rest }: { readonly title: string } & Pick<ColumnsProps, "what" | "rows" | "runs" | "numbers">) {
  return (
    <section className={css["section"]} data-testid={`columns-${title.toLowerCase()}`}>
      <h2>{title}</h2>
      {rest.rows.length === 0 ? <p className={css["muted"]}>{t("No run has any.")}</p> : <Columns label={title} mark {...rest} />}
    </section>
  );
}

/** The inputs and outputs of two runs. Where columns show those of all, only the data of both. */
function Data({ a, b, two }: { readonly a: RunName; readonly b: RunName; readonly two: boolean }) {
  const left = useRootData(a);
  const right = useRootData(b);
  const error = left.error ?? right.error;
  if (error) return <ProblemNotice error={error} retry={() => void (left.error ? left.refetch() : right.refetch())} />;
  if (!left.data || !right.data) return <Loading what={t("inputs and outputs")} />;
  return (
    <>
      <section className={css["section"]} data-testid="compare-inputs">
        {two ? <h2>{t("Inputs")}</h2> : <h3>{t("Inputs")}</h3>}
        <Diff label={t("Inputs")} before={text(left.data.inputs?.literals)} after={text(right.data.inputs?.literals)} equal={t("Same inputs.")} />
        <Stored label={t("Inputs")} a={a} b={b} before={left.data.inputs?.literals ?? []} after={right.data.inputs?.literals ?? []} />
      </section>
      <section className={css["section"]} data-testid="compare-outputs">
        {two ? <h2>{t("Outputs")}</h2> : <h3>{t("Outputs")}</h3>}
        <Diff
          label={t("Outputs")}
          before={text(left.data.outputs?.literals)}
          after={text(right.data.outputs?.literals)}
          equal={(left.data.outputs?.literals.length ?? 0) === 0 ? t("Neither run has outputs.") : t("Same outputs.")}
        />
        <Stored label={t("Outputs")} a={a} b={b} before={left.data.outputs?.literals ?? []} after={right.data.outputs?.literals ?? []} />
      </section>
    </>
  );
}

const useRootData = (run: RunName) =>
  useQuery(DataProxyService.method.getActionData, dataOf(run));

const dataOf = (run: RunName) => ({
  actionId: { run: { project: run.project, domain: run.domain, name: run.name }, name: "a0" },
  runSource: sourceOf(run),
});

const text = (literals: readonly NamedLiteral[] = []): string =>
  `${json({ kind: "map", struct: true, entries: literals.map(({ name, value }) => [name, valueOf(value)] as const) })}\n`;
