import { useMutation, useQuery } from "@connectrpc/connect-query";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useState } from "react";
import { TriggerInsightService, type BackfillStatus } from "@gen/flytebinary/insight/v1/triggers_pb.js";
import { Button } from "@/design/button";
import { Field, Input } from "@/design/field";
import { dateOf } from "@/design/format";
import { DataTable } from "@/design/data-table";
import { ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import { useDenied } from "@/entities/access/use-denied";
import { t } from "@/texts/texts";
import type { TriggerId } from "./id";
import { utcOf } from "./words";
import css from "@/design/page.module.css";

/** Runs a trigger for slots of the past, and shows how far that is. */
export function Backfills({ id }: { readonly id: TriggerId }) {
  const answer = useQuery(TriggerInsightService.method.listBackfills, { name: id }, { refetchInterval: 5_000 });
  const refresh = () => void answer.refetch();
  const noCancel = useDenied(TriggerInsightService.method.cancelBackfill, id);
  const cancel = useMutation(TriggerInsightService.method.cancelBackfill, { onSuccess: refresh });
  return (
    <>
      <BackfillForm id={id} onDone={refresh} />
      {cancel.error && <ProblemNotice error={cancel.error} />}
      <DataTable
        what={t("backfills")}
        label={t("Backfills")}
        answer={answer}
        rows={answer.data?.backfills ?? []}
        keyOf={(backfill) => String(backfill.id)}
        columns={[
          { label: t("Backfill"), cell: (backfill) => String(backfill.id) },
          { label: t("From"), cell: ({ from }) => <When at={dateOf(from)} /> },
          { label: t("Until"), cell: ({ until }) => <When at={dateOf(until)} /> },
          { label: t("State"), cell: ({ canceled, endedAt }) => (canceled ? t("Canceled") : endedAt ? t("Done") : t("Working")) },
          { label: t("Slots"), cell: countsOf },
          {
            label: t("Cancel"),
            hideLabel: true,
            cell: (backfill) =>
              !backfill.endedAt && (
                <Button small denied={noCancel} disabled={cancel.isPending} onClick={() => cancel.mutate({ name: id, id: backfill.id })}>
                  {t("Cancel")}
                </Button>
              ),
          },
        ]}
      />
    </>
  );
}

/** The progress of a backfill. Counts of zero are left out, except that of started runs. */
function countsOf({ started, failed, present, unfinished }: BackfillStatus): string {
  return [
    t("{started} started", { started }),
    ...(unfinished > 0 ? [t("{unfinished} unfinished", { unfinished })] : []),
    ...(failed > 0 ? [t("{failed} not started", { failed })] : []),
    ...(present > 0 ? [t("{present} had fired before", { present })] : []),
  ].join(", ");
}

/** The form for a backfill. Times are in UTC, as the slots are listed. */
function BackfillForm({ id, onDone }: { readonly id: TriggerId; readonly onDone: () => void }) {
  const [from, setFrom] = useState("");
  const [until, setUntil] = useState("");
  const [parallel, setParallel] = useState("1");
  const denied = useDenied(TriggerInsightService.method.backfill, id);
  const begin = useMutation(TriggerInsightService.method.backfill, { onSuccess: onDone });
  const [first, end] = [utcOf(from), utcOf(until)];
  const parallelRuns = Number(parallel);
  return (
    <form
      className={css["section"]}
      aria-label={t("Backfill")}
      onSubmit={(event) => {
        event.preventDefault();
        if (first && end && !begin.isPending && !denied) {
          begin.mutate({ name: id, from: timestampFromDate(first), until: timestampFromDate(end), parallel: parallelRuns });
        }
      }}
    >
      <div className={css["head"]}>
        <Field label={t("From (UTC)")}>
          {(control) => <Input {...control} type="datetime-local" value={from} onChange={(event) => setFrom(event.target.value)} required />}
        </Field>
        <Field label={t("Until (UTC, not included)")}>
          {(control) => <Input {...control} type="datetime-local" value={until} onChange={(event) => setUntil(event.target.value)} required />}
        </Field>
        <Field label={t("Unfinished runs at once")}>
          {(control) => (
            <Input {...control} type="number" min={1} max={100} value={parallel} onChange={(event) => setParallel(event.target.value)} required />
          )}
        </Field>
        <Button type="submit" denied={denied} disabled={!first || !end || begin.isPending}>
          {t("Backfill")}
        </Button>
      </div>
      {begin.error && <ProblemNotice error={begin.error} />}
    </form>
  );
}
