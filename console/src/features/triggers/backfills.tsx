import { useMutation, useQuery } from "@connectrpc/connect-query";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useState } from "react";
import { TriggerInsightService, type BackfillStatus } from "@gen/flytebinary/insight/v1/triggers_pb.js";
import { Button } from "@/design/button";
import { Field, Input } from "@/design/field";
import { dateOf } from "@/design/format";
import { Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import type { TriggerId } from "./id";
import { utcOf } from "./words";
import css from "@/design/list.module.css";

/** Runs a trigger for slots of the past, and shows how far that is. */
export function Backfills({ id }: { readonly id: TriggerId }) {
  const answer = useQuery(TriggerInsightService.method.listBackfills, { name: id }, { refetchInterval: 5_000 });
  const refresh = () => void answer.refetch();
  const cancel = useMutation(TriggerInsightService.method.cancelBackfill, { onSuccess: refresh });
  return (
    <>
      <BackfillForm id={id} onDone={refresh} />
      {cancel.error && <ProblemNotice error={cancel.error} />}
      {answer.error && <ProblemNotice error={answer.error} retry={refresh} />}
      {answer.isLoading && <Loading what="backfills" />}
      {answer.data && answer.data.backfills.length > 0 && (
        <table className={css["tasks"]} aria-label="Backfills">
          <thead>
            <tr>
              <th scope="col">Backfill</th>
              <th scope="col">From</th>
              <th scope="col">Until</th>
              <th scope="col">State</th>
              <th scope="col">Slots</th>
              <th scope="col">
                <span className="visually-hidden">Cancel</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {answer.data.backfills.map((backfill) => (
              <tr key={String(backfill.id)}>
                <th scope="row">{String(backfill.id)}</th>
                <td data-label="From">
                  <When at={dateOf(backfill.from)} />
                </td>
                <td data-label="Until">
                  <When at={dateOf(backfill.until)} />
                </td>
                <td data-label="State">{backfill.canceled ? "Canceled" : backfill.endedAt ? "Done" : "Working"}</td>
                <td data-label="Slots">{countsOf(backfill)}</td>
                <td>
                  {!backfill.endedAt && (
                    <Button small disabled={cancel.isPending} onClick={() => cancel.mutate({ name: id, id: backfill.id })}>
                      Cancel
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function countsOf({ started, failed, present, unfinished }: BackfillStatus): string {
  return [
    `${started} started`,
    ...(unfinished > 0 ? [`${unfinished} unfinished`] : []),
    ...(failed > 0 ? [`${failed} not started`] : []),
    ...(present > 0 ? [`${present} had fired before`] : []),
  ].join(", ");
}

function BackfillForm({ id, onDone }: { readonly id: TriggerId; readonly onDone: () => void }) {
  const [from, setFrom] = useState("");
  const [until, setUntil] = useState("");
  const [parallel, setParallel] = useState("1");
  const begin = useMutation(TriggerInsightService.method.backfill, { onSuccess: onDone });
  const [first, end] = [utcOf(from), utcOf(until)];
  const parallelRuns = Number(parallel);
  return (
    <form
      className={css["section"]}
      aria-label="Backfill"
      onSubmit={(event) => {
        event.preventDefault();
        if (first && end && !begin.isPending) {
          begin.mutate({ name: id, from: timestampFromDate(first), until: timestampFromDate(end), parallel: parallelRuns });
        }
      }}
    >
      <div className={css["head"]}>
        <Field label="From (UTC)">
          {(control) => <Input {...control} type="datetime-local" value={from} onChange={(event) => setFrom(event.target.value)} required />}
        </Field>
        <Field label="Until (UTC, not included)">
          {(control) => <Input {...control} type="datetime-local" value={until} onChange={(event) => setUntil(event.target.value)} required />}
        </Field>
        <Field label="Unfinished runs at once">
          {(control) => (
            <Input {...control} type="number" min={1} max={100} value={parallel} onChange={(event) => setParallel(event.target.value)} required />
          )}
        </Field>
        <Button type="submit" disabled={!first || !end || begin.isPending}>
          Backfill
        </Button>
      </div>
      {begin.error && <ProblemNotice error={begin.error} />}
    </form>
  );
}
