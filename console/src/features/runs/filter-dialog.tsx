import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Filter_Function } from "@gen/flyteidl2/common/list_pb.js";
import { TaskService } from "@gen/flyteidl2/task/task_service_pb.js";
import type { Place } from "@/app/place";
import { usePreferences } from "@/app/preferences";
import { Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { Field, Input, Select, TextArea } from "@/design/field";
import { Phase } from "@/design/phase";
import { phases } from "@/design/phases";
import { localText, momentOf } from "./moment";
import { agoOf, RunsSearch, sinceOf, sources, toggled, type Sort, type SearchPatch } from "./search";
import css from "./filter-dialog.module.css";

export interface FilterDialogProps {
  readonly place: Place;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly search: RunsSearch;
  readonly onSearch: (search: RunsSearch) => void;
}

const orders: readonly (readonly [Sort, string])[] = [
  ["newest", "Newest first"],
  ["oldest", "Oldest first"],
  ["updated", "Recently updated first"],
  ["longest", "Longest first"],
  ["shortest", "Shortest first"],
];

/** A form with all filters. */
export function FilterDialog({ open, onClose, ...rest }: FilterDialogProps) {
  return (
    <Dialog open={open} onClose={onClose} title="Filter runs" description="Shows runs that match all filters.">
      <Form {...rest} onClose={onClose} />
    </Dialog>
  );
}

function Form({ place, search, onSearch, onClose }: Omit<FilterDialogProps, "open">) {
  const { zone } = usePreferences();
  const [draft, setDraft] = useState<SearchPatch>(search);
  const [labels, setLabels] = useState((search.labels ?? []).join("\n"));
  const [opened] = useState(() => Date.now());
  const list = useId();
  const change = (patch: SearchPatch) => setDraft((before) => ({ ...before, ...patch }));
  const isSpan = draft.since === undefined || agoOf(draft.since) !== undefined;
  return (
    <form
      className={css["form"]}
      data-testid="filter-form"
      onSubmit={(event) => {
        event.preventDefault();
        onSearch(RunsSearch({ ...draft, labels: labels.split("\n").map((line) => line.trim()) }));
        onClose();
      }}
    >
      <Field label="Task" hint="Contains; prefix with = for an exact match.">
        {(control) => (
          <>
            <Input {...control} list={list} autoComplete="off" value={draft.task ?? ""} onChange={(event) => change({ task: event.target.value })} />
            <Tasks id={list} place={place} part={(draft.task ?? "").replace(/^=/, "")} />
          </>
        )}
      </Field>
      <Field label="Run name" hint="Contains.">
        {(control) => <Input {...control} autoComplete="off" value={draft.q ?? ""} onChange={(event) => change({ q: event.target.value })} />}
      </Field>
      <fieldset className={css["choices"]}>
        <legend>Phase</legend>
        {phases.map((look) => (
          <label key={look.key}>
            <input
              type="checkbox"
              checked={draft.phases?.split(",").includes(look.key) ?? false}
              onChange={() => change({ phases: toggled(draft.phases, look.key) })}
            />
            <Phase phase={look.phase} />
          </label>
        ))}
      </fieldset>
      <fieldset className={css["choices"]}>
        <legend>Source</legend>
        {sources.map(([key, , label]) => (
          <label key={key}>
            <input type="checkbox" checked={draft.source?.split(",").includes(key) ?? false} onChange={() => change({ source: toggled(draft.source, key) })} />
            {label}
          </label>
        ))}
      </fieldset>
      <Field label="Owner" hint="User ID of the person who started the run.">
        {(control) => <Input {...control} autoComplete="off" value={draft.owner ?? ""} onChange={(event) => change({ owner: event.target.value })} />}
      </Field>
      <Field label="Cluster" hint="The cluster that runs the first action.">
        {(control) => <Input {...control} autoComplete="off" autoCapitalize="none" value={draft.cluster ?? ""} onChange={(event) => change({ cluster: event.target.value })} />}
      </Field>
      <Field label="Labels" hint="key=value, or key for any value. One per line.">
        {(control) => <TextArea {...control} rows={2} value={labels} onChange={(event) => setLabels(event.target.value)} />}
      </Field>
      <Field label="Created after" hint={isSpan && draft.since ? `Currently the last ${draft.since}.` : undefined}>
        {(control) => (
          <Input
            {...control}
            type="datetime-local"
            value={isSpan ? "" : localText(sinceOf({ since: draft.since ?? "" }, opened), zone)}
            onChange={(event) => change({ since: momentOf(event.target.value, zone)?.toISOString() })}
          />
        )}
      </Field>
      <Field label="Created before">
        {(control) => (
          <Input
            {...control}
            type="datetime-local"
            value={localText(draft.until === undefined ? undefined : new Date(draft.until), zone)}
            onChange={(event) => change({ until: momentOf(event.target.value, zone)?.toISOString() })}
          />
        )}
      </Field>
      <Field label="Order">
        {(control) => (
          <Select
            {...control}
            value={draft.sort ?? "newest"}
            onChange={(event) => {
              const sort = orders.find(([key]) => key === event.target.value)?.[0] ?? "newest";
              change({ sort: sort === "newest" ? undefined : sort });
            }}
          >
            {orders.map(([key, label]) => (
              <option key={key} value={key}>
                {label}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <label className={css["check"]}>
        <input type="checkbox" checked={draft.paused ?? false} onChange={(event) => change({ paused: event.target.checked || undefined })} />
        Only runs waiting for approval
      </label>
      <div className={css["wide"]}>
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit">
            Apply
          </Button>
        </DialogActions>
      </div>
    </form>
  );
}

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
