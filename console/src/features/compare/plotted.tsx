import { createQueryOptions, useQuery, useTransport } from "@connectrpc/connect-query";
import { useQueries } from "@tanstack/react-query";
import { RunQueryService } from "@gen/flytebinary/insight/v1/queries_pb.js";
import { DataProxyService } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import type { Place } from "@/app/place";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { mostPlotted } from "@/entities/run/comparison";
import { nameOf } from "@/entities/run/listed";
import { t, tn } from "@/texts/texts";
import { measuredOf } from "./measured";
import { Scatter } from "./scatter";
import css from "./compare.module.css";

/** The newest runs that match a query, as a plot. */
export function PlottedQuery({ place, query }: { readonly place: Place; readonly query: string }) {
  const answer = useQuery(RunQueryService.method.queryRuns, { projectId: { name: place.project, domain: place.domain }, query, limit: mostPlotted });
  if (answer.error) return <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />;
  if (!answer.data) return <Loading what={t("runs")} />;
  const names = answer.data.runs.map(nameOf);
  return (
    <>
      <p className={css["muted"]}>
        {answer.data.token === ""
          ? tn(names.length, "{n} run of {query}", "{n} runs of {query}", { query: <code>{query}</code> })
          : tn(names.length, "The newest {n} run of {query}", "The newest {n} runs of {query}", { query: <code>{query}</code> })}
      </p>
      <Plotted place={place} names={names} />
    </>
  );
}

/** Runs of the installation as a plot of two of their numbers. */
export function Plotted({ place, names }: { readonly place: Place; readonly names: readonly string[] }) {
  const transport = useTransport();
  const answers = useQueries({
    queries: names.map((name) => createQueryOptions(DataProxyService.method.getActionData, { actionId: { run: { project: place.project, domain: place.domain, name }, name: "a0" } }, { transport })),
  });
  if (names.length === 0) return <Empty title={t("No runs to plot")} />;
  const pending = answers.filter(({ isPending }) => isPending).length;
  if (pending > 0) return <Loading what={tn(pending, "the values of {n} run", "the values of {n} runs")} />;
  const unread = answers.filter(({ error }) => error).length;
  return (
    <section className={css["section"]} data-testid="compare-plot">
      {unread > 0 && <p className={css["muted"]}>{tn(unread, "The data of {n} run cannot be read.", "The data of {n} runs cannot be read.")}</p>}
      <Scatter
        place={place}
        runs={names.flatMap((name, at) => {
          const data = answers[at]?.data;
          return data ? [measuredOf(name, data.inputs?.literals, data.outputs?.literals)] : [];
        })}
      />
    </section>
  );
}
