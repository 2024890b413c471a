import { useQuery } from "@connectrpc/connect-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { ArrowLeftRight } from "lucide-react";
import { useMemo, useState } from "react";
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
import { factsOf, sideBySide } from "./facts";
import { RunPicker } from "./run-picker";
import type { CompareSearch } from "./search";
import { Side } from "./side";
import { Stored } from "./stored";
import { Timings } from "./timings";
import css from "./compare.module.css";

/** Two runs side by side: properties, inputs, outputs and durations. */
export function ComparePage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const { a, b }: CompareSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const place = useMemo(() => ({ project, domain }), [project, domain]);
  useTitle(a !== undefined && b !== undefined ? `${runOfKey(place, a).name} and ${runOfKey(place, b).name}` : "", "Compare runs");
  const go = (search: CompareSearch) => void navigate({ to: "/domain/$domain/project/$project/compare", params: place, search });
  const both = a !== undefined && b !== undefined;
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1>Compare runs</h1>
        {both && (
          <Button small onClick={() => go({ a: b, b: a })}>
            <ArrowLeftRight size={14} aria-hidden /> Swap
          </Button>
        )}
      </div>
      {both ? (
        <Both key={`${a}/${b}`} place={place} a={a} b={b} onDrop={(side) => go(side === "a" ? { b } : { a })} />
      ) : (
        <Missing place={place} a={a} b={b} go={go} />
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
            title={other === undefined ? (side === "a" ? "First run" : "Second run") : `Run to compare with ${known.name}`}
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

function Both({ place, a, b, onDrop }: { readonly place: Place; readonly a: string; readonly b: string; readonly onDrop: (side: "a" | "b") => void }) {
  const left = useMemo(() => runOfKey(place, a), [place, a]);
  const right = useMemo(() => runOfKey(place, b), [place, b]);
  const first = useRunDetails(left);
  const second = useRunDetails(right);
  const problem = first.problem ?? second.problem;
  return (
    <>
      {problem && <ProblemNotice error={problem} />}
      <div className={css["sides"]}>
        <Side run={left} mark="a" details={first.state} onDrop={() => onDrop("a")} />
        <Side run={right} mark="b" details={second.state} onDrop={() => onDrop("b")} />
      </div>
      {first.state && second.state && <Differences a={first.state} b={second.state} />}
      <Data a={left} b={right} />
      <Timings a={left} b={right} />
    </>
  );
}

/** The properties that differ, and on demand the others. */
function Differences({ a, b }: { readonly a: RunDetails; readonly b: RunDetails }) {
  const { zone } = usePreferences();
  const [all, setAll] = useState(false);
  const rows = useMemo(() => sideBySide(factsOf(a, zone), factsOf(b, zone)), [a, b, zone]);
  const same = rows.filter((row) => row.same).length;
  const shown = all ? rows : rows.filter((row) => !row.same);
  return (
    <section className={css["section"]} data-testid="compare-facts">
      <div className={css["head"]}>
        <h2>Differences</h2>
        <Button small aria-pressed={all} onClick={() => setAll(!all)}>
          {all ? "Show differences only" : `Show all (${same} unchanged)`}
        </Button>
      </div>
      <table className={css["facts"]} aria-label="Differences">
        <thead>
          <tr>
            <th scope="col">Property</th>
            <th scope="col">A</th>
            <th scope="col">B</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr key={row.name} data-fact={row.name} data-same={row.same}>
              <th scope="row">
                {row.name}
                {all && !row.same && <span className={css["differs"]}> ≠</span>}
              </th>
              <td data-label="A">{row.a || "–"}</td>
              <td data-label="B">{row.b || "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The inputs and outputs of both runs. */
function Data({ a, b }: { readonly a: RunName; readonly b: RunName }) {
  const left = useRootData(a);
  const right = useRootData(b);
  const error = left.error ?? right.error;
  if (error) return <ProblemNotice error={error} retry={() => void (left.error ? left.refetch() : right.refetch())} />;
  if (!left.data || !right.data) return <Loading what="inputs and outputs" />;
  return (
    <>
      <section className={css["section"]} data-testid="compare-inputs">
        <h2>Inputs</h2>
        <Diff label="Inputs" before={text(left.data.inputs?.literals)} after={text(right.data.inputs?.literals)} equal="Same inputs." />
        <Stored label="Inputs" a={a} b={b} before={left.data.inputs?.literals ?? []} after={right.data.inputs?.literals ?? []} />
      </section>
      <section className={css["section"]} data-testid="compare-outputs">
        <h2>Outputs</h2>
        <Diff
          label="Outputs"
          before={text(left.data.outputs?.literals)}
          after={text(right.data.outputs?.literals)}
          equal={(left.data.outputs?.literals.length ?? 0) === 0 ? "Neither run has outputs." : "Same outputs."}
        />
        <Stored label="Outputs" a={a} b={b} before={left.data.outputs?.literals ?? []} after={right.data.outputs?.literals ?? []} />
      </section>
    </>
  );
}

const useRootData = (run: RunName) =>
  useQuery(DataProxyService.method.getActionData, {
    actionId: { run: { project: run.project, domain: run.domain, name: run.name }, name: "a0" },
    runSource: sourceOf(run),
  });

const text = (literals: readonly NamedLiteral[] = []): string =>
  `${json({ kind: "map", struct: true, entries: literals.map(({ name, value }) => [name, valueOf(value)] as const) })}\n`;
