import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useId, useState, type ChangeEvent } from "react";
import { Filter_Function } from "@gen/flyteidl2/common/list_pb.js";
import { TaskService } from "@gen/flyteidl2/task/task_service_pb.js";
import type { Place } from "@/app/place";
import { usePreferences } from "@/app/preferences";
import { Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { Field, Input, Select, TextArea } from "@/design/field";
import { Phase } from "@/design/phase";
import { phases } from "@/design/phases";
import { t } from "@/texts/texts";
import { localText, momentOf } from "./moment";
import { lengthOf } from "@/entities/run/query/moment";
import { fieldsOf, withFields, type Fields } from "./fields";
import { withQuery, withSort, type RunsSearch, type Sort } from "./search";
import { sources } from "./sources";
import css from "./filter-dialog.module.css";

export interface FilterDialogProps {
  readonly place: Place;
  readonly onClose: () => void;
  readonly search: RunsSearch;
  readonly onSearch: (search: RunsSearch) => void;
}

const orders: readonly (readonly [Sort, string])[] = [
  ["newest", t("Newest first")],
  ["oldest", t("Oldest first")],
  ["updated", t("Recently updated first")],
  ["longest", t("Longest first")],
  ["shortest", t("Shortest first")],
];

/** A form with all filters. */
export function FilterDialog({ onClose, ...rest }: FilterDialogProps) {
  return (
    <Dialog open onClose={onClose} title={t("Filter runs")} description={t("Shows runs that match all filters.")}>
      <Form {...rest} onClose={onClose} />
    </Dialog>
  );
}

function Form({ place, search, onSearch, onClose }: FilterDialogProps) {
  const { zone } = usePreferences();
  const { query = "" } = search;
  const [draft, setDraft] = useState<Fields>(() => fieldsOf(query));
  const [labels, setLabels] = useState(draft.labels.join("\n"));
  const [sort, setSort] = useState<Sort>(search.sort ?? "newest");
  const list = useId();
  const change = (patch: Partial<Fields>) => setDraft((before) => ({ ...before, ...patch }));
  const text = (field: "task" | "name" | "error" | "owner" | "cluster") => ({
    autoComplete: "off",
    value: draft[field],
    onChange: (event: ChangeEvent<HTMLInputElement>) => change({ [field]: event.target.value }),
  });
  const isSpan = lengthOf(draft.since) !== undefined;
  const wrong = draft.longer.trim() !== "" && lengthOf(draft.longer.trim()) === undefined ? t("Write 90s, 5m, 1h30m or 2d.") : undefined;
  return (
    <form
      className={css["form"]}
      data-testid="filter-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (wrong !== undefined) return;
        const lines = labels.split("\n").map((line) => line.trim());
        const next = withFields(query, { ...draft, labels: lines.filter((line) => !/^(=|$)/.test(line)) });
        onSearch(withSort(withQuery(search, next), sort));
        onClose();
      }}
    >
      <Field label={t("Task")} hint={t("Contains; prefix with = for an exact match.")}>
        {(control) => (
          <>
            <Input {...control} list={list} {...text("task")} />
            <Tasks id={list} place={place} part={draft.task.replace(/^=/, "")} />
          </>
        )}
      </Field>
      <Field label={t("Run name")} hint={t("Contains; prefix with = for an exact match.")}>
        {(control) => <Input {...control} {...text("name")} />}
      </Field>
      <fieldset className={css["choices"]}>
        <legend>{t("Phase")}</legend>
        {phases.map((look) => (
          <label key={look.key}>
            <input type="checkbox" checked={draft.phases.includes(look.key)} onChange={() => change({ phases: flipped(draft.phases, look.key) })} />
            <Phase phase={look.phase} />
          </label>
        ))}
      </fieldset>
      <fieldset className={css["choices"]}>
        <legend>{t("Source")}</legend>
        {sources.map(([key, , label]) => (
          <label key={key}>
            <input type="checkbox" checked={draft.sources.includes(key)} onChange={() => change({ sources: flipped(draft.sources, key) })} />
            {label}
          </label>
        ))}
      </fieldset>
      <Field label={t("Error")} hint={t("Contains, in the error of the run.")}>
        {(control) => <Input {...control} {...text("error")} />}
      </Field>
      <Field label={t("Longer than")} hint={t("Such as 5m or 1h30m.")} error={wrong}>
        {(control) => <Input {...control} autoComplete="off" value={draft.longer} onChange={(event) => change({ longer: event.target.value })} />}
      </Field>
      <Field label={t("Owner")} hint={t("User ID of the person who started the run, or me.")}>
        {(control) => <Input {...control} {...text("owner")} />}
      </Field>
      <Field label={t("Cluster")} hint={t("The cluster that runs the first action.")}>
        {(control) => <Input {...control} autoCapitalize="none" {...text("cluster")} />}
      </Field>
      <Field label={t("Labels")} hint={t("key=value, or key for any value. One per line.")}>
        {(control) => <TextArea {...control} rows={2} value={labels} onChange={(event) => setLabels(event.target.value)} />}
      </Field>
      <Field label={t("Created after")} hint={isSpan ? t("Currently the last {since}.", { since: draft.since }) : undefined}>
        {(control) => (
          <Input
            {...control}
            type="datetime-local"
            value={isSpan || draft.since === "" ? "" : localText(new Date(draft.since), zone)}
            onChange={(event) => change({ since: momentOf(event.target.value, zone)?.toISOString() ?? "" })}
          />
        )}
      </Field>
      <Field label={t("Created before")}>
        {(control) => (
          <Input
            {...control}
            type="datetime-local"
            value={localText(draft.until === "" ? undefined : new Date(draft.until), zone)}
            onChange={(event) => change({ until: momentOf(event.target.value, zone)?.toISOString() ?? "" })}
          />
        )}
      </Field>
      <Field label={t("Order")}>
        {(control) => (
          <Select {...control} value={sort} onChange={(event) => setSort(orders.find(([key]) => key === event.target.value)?.[0] ?? "newest")}>
            {orders.map(([key, label]) => (
              <option key={key} value={key}>
                {label}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <label className={css["check"]}>
        <input type="checkbox" checked={draft.paused} onChange={(event) => change({ paused: event.target.checked })} />
        {t("Only runs waiting for approval")}
      </label>
      <div className={css["wide"]}>
        <DialogActions>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button kind="primary" type="submit">
            {t("Apply")}
          </Button>
        </DialogActions>
      </div>
    </form>
  );
}

const flipped = (list: readonly string[], key: string): readonly string[] => (list.includes(key) ? list.filter((each) => each !== key) : [...list, key]);

/** Suggests tasks whose name contains the text. */
function Tasks({ id, place, part }: { readonly id: string; readonly place: Place; readonly part: string }) {
  const answer = useQuery(
    TaskService.method.listTasks,
    {
      request: { limit: 20, filters: part === "" ? [] : [{ function: Filter_Function.CONTAINS_CASE_INSENSITIVE, field: "name", values: [part] }] },
      scopeBy: { case: "projectId", value: { organization: "flyte", name: place.project, domain: place.domain } },
    },
    { placeholderData: keepPreviousData, retry: false },
  );
  return (
    <datalist id={id}>
      {(answer.data?.tasks ?? []).map(({ taskId }) => (
        <option key={taskId?.name} value={taskId?.name} />
      ))}
    </datalist>
  );
}
