import { useQuery } from "@connectrpc/connect-query";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { Field, Input, Select } from "@/design/field";
import { count } from "@/design/format";
import type { Options } from "./options";
import { Pairs } from "./pairs";
import css from "./form/form.module.css";

export interface OptionsFormProps {
  readonly options: Options;
  readonly errors: ReadonlyMap<string, string>;
  readonly onChange: (options: Options) => void;
}

/** Asks how a run is to be run. */
export function OptionsForm({ options, errors, onChange }: OptionsFormProps) {
  const set = <K extends keyof Options>(key: K, value: Options[K]) => onChange({ ...options, [key]: value });
  return (
    <div className={css["inputs"]}>
      <div className={css["options"]}>
        <Field label="Run name" hint="Empty for a name that is made." error={errors.get("name")}>
          {(control) => <Input {...control} maxLength={30} autoComplete="off" value={options.name} onChange={(event) => set("name", event.target.value)} />}
        </Field>
        <QueueField queue={options.queue} onChange={(queue) => set("queue", queue)} />
        <Field label="Actions at once" hint="How many of the run's actions may be under way. Empty for no limit." error={errors.get("concurrency")}>
          {(control) => <Input {...control} inputMode="numeric" autoComplete="off" value={options.concurrency} onChange={(event) => set("concurrency", event.target.value)} />}
        </Field>
        <Field label="Cache scope" hint="Whose cached outputs count.">
          {(control) => (
            <Select {...control} value={options.cacheScope} onChange={(event) => set("cacheScope", event.target.value === "place" ? "place" : "global")}>
              <option value="global">All projects and domains</option>
              <option value="place">This project and domain</option>
            </Select>
          )}
        </Field>
        <Field label="Interruptible nodes" hint="Cheap nodes that may be taken away.">
          {(control) => (
            <Select {...control} value={options.interruptible} onChange={(event) => set("interruptible", event.target.value as Options["interruptible"])}>
              <option value="task">As each task says</option>
              <option value="yes">Allowed</option>
              <option value="no">Not allowed</option>
            </Select>
          )}
        </Field>
        <Field label="Service account" hint="Of Kubernetes. Empty for the usual one.">
          {(control) => <Input {...control} autoComplete="off" value={options.serviceAccount} onChange={(event) => set("serviceAccount", event.target.value)} />}
        </Field>
        <Field label="Raw data path" hint="Where tasks put files and tables. Empty for the usual place.">
          {(control) => <Input {...control} autoComplete="off" placeholder="s3://bucket/path" value={options.rawData} onChange={(event) => set("rawData", event.target.value)} />}
        </Field>
      </div>
      <label className={css["check"]}>
        <input type="checkbox" checked={options.overwriteCache} onChange={(event) => set("overwriteCache", event.target.checked)} />
        Run everything, and put the outputs over what the cache has
      </label>
      <Pairs label="Labels" hint="By these, runs are found." pairs={options.labels} error={errors.get("labels")} onChange={(pairs) => set("labels", pairs)} />
      <Pairs label="Environment variables" hint="Every task of the run sees them. They are no place for secrets." pairs={options.env} error={errors.get("env")} onChange={(pairs) => set("env", pairs)} />
      <Pairs label="Annotations" hint="The pods get them." pairs={options.annotations} error={errors.get("annotations")} onChange={(pairs) => set("annotations", pairs)} />
    </div>
  );
}

/** A queue out of those that there are; as text where they cannot be listed. */
function QueueField({ queue, onChange }: { readonly queue: string; readonly onChange: (queue: string) => void }) {
  const { data } = useQuery(InsightService.method.listQueues, {});
  const queues = data?.queues ?? [];
  const hint = "Empty for that of the task or the project.";
  if (!data) {
    return (
      <Field label="Queue" hint={hint}>
        {(control) => <Input {...control} autoComplete="off" value={queue} onChange={(event) => onChange(event.target.value)} />}
      </Field>
    );
  }
  const known = queue === "" || queues.some(({ name }) => name === queue);
  return (
    <Field label="Queue" hint={hint}>
      {(control) => (
        <Select {...control} value={queue} onChange={(event) => onChange(event.target.value)}>
          <option value="">The usual one</option>
          {!known && <option value={queue}>{queue} (not there)</option>}
          {queues
            .filter(({ name }) => name !== "")
            .map(({ name, actions, depth }) => (
              <option key={name} value={name}>
                {name}: {count(actions)} under way, {count(depth)} waiting
              </option>
            ))}
        </Select>
      )}
    </Field>
  );
}
