import { useQuery } from "@connectrpc/connect-query";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { Field, Input, Select } from "@/design/field";
import { count } from "@/design/format";
import { t } from "@/texts/texts";
import type { Options } from "./options";
import { Pairs } from "./pairs";
import css from "./form/form.module.css";

export interface OptionsFormProps {
  readonly options: Options;
  readonly errors: ReadonlyMap<string, string>;
  readonly onChange: (options: Options) => void;
}

/** Edits the options of a run. */
export function OptionsForm({ options, errors, onChange }: OptionsFormProps) {
  const set = <K extends keyof Options>(key: K, value: Options[K]) => onChange({ ...options, [key]: value });
  return (
    <div className={css["inputs"]}>
      <div className={css["options"]}>
        <Field label={t("Run name")} hint={t("Leave empty to generate one.")} error={errors.get("name")}>
          {(control) => <Input {...control} maxLength={30} autoComplete="off" value={options.name} onChange={(event) => set("name", event.target.value)} />}
        </Field>
        <QueueField queue={options.queue} onChange={(queue) => set("queue", queue)} />
        <Field label={t("Max parallel actions")} hint={t("Leave empty for no limit.")} error={errors.get("concurrency")}>
          {(control) => (
            <Input
              {...control}
              inputMode="numeric"
              autoComplete="off"
              value={options.concurrency}
              onChange={(event) => set("concurrency", event.target.value)}
            />
          )}
        </Field>
        <Field label={t("Cache scope")} hint={t("Which cached results may be used.")}>
          {(control) => (
            <Select {...control} value={options.cacheScope} onChange={(event) => set("cacheScope", event.target.value === "place" ? "place" : "global")}>
              <option value="global">{t("All projects and domains")}</option>
              <option value="place">{t("This project and domain")}</option>
            </Select>
          )}
        </Field>
        <Field label={t("Interruptible nodes")} hint={t("Spot/preemptible nodes.")}>
          {(control) => (
            <Select {...control} value={options.interruptible} onChange={(event) => set("interruptible", event.target.value as Options["interruptible"])}>
              <option value="task">{t("Task setting")}</option>
              <option value="yes">{t("Allowed")}</option>
              <option value="no">{t("Not allowed")}</option>
            </Select>
          )}
        </Field>
        <Field label={t("Service account")} hint={t("Kubernetes service account. Leave empty for the default.")}>
          {(control) => (
            <Input {...control} autoComplete="off" value={options.serviceAccount} onChange={(event) => set("serviceAccount", event.target.value)} />
          )}
        </Field>
        <Field label={t("Raw data path")} hint={t("Where tasks store files and tables. Leave empty for the default.")}>
          {(control) => (
            <Input
              {...control}
              autoComplete="off"
              placeholder={t("s3://bucket/path")}
              value={options.rawData}
              onChange={(event) => set("rawData", event.target.value)}
            />
          )}
        </Field>
      </div>
      <label className={css["check"]}>
        <input type="checkbox" checked={options.overwriteCache} onChange={(event) => set("overwriteCache", event.target.checked)} />
        {t("Ignore the cache and overwrite it")}
      </label>
      <Pairs label={t("Labels")} hint={t("Used to find runs.")} pairs={options.labels} error={errors.get("labels")} onChange={(pairs) => set("labels", pairs)} />
      <Pairs
        label={t("Environment variables")}
        hint={t("Set in every task of the run. Do not use them for secrets.")}
        pairs={options.env}
        error={errors.get("env")}
        onChange={(pairs) => set("env", pairs)}
      />
      <Pairs
        label={t("Annotations")}
        hint={t("Added to pods.")}
        pairs={options.annotations}
        error={errors.get("annotations")}
        onChange={(pairs) => set("annotations", pairs)}
      />
    </div>
  );
}

/** Selects a queue, or edits its name if queues cannot be listed. */
function QueueField({ queue, onChange }: { readonly queue: string; readonly onChange: (queue: string) => void }) {
  const { data } = useQuery(InsightService.method.listQueues, {});
  const queues = data?.queues ?? [];
  const hint = t("Leave empty for the queue of the task or project.");
  if (!data) {
    return (
      <Field label={t("Queue")} hint={hint}>
        {(control) => <Input {...control} autoComplete="off" value={queue} onChange={(event) => onChange(event.target.value)} />}
      </Field>
    );
  }
  const known = queue === "" || queues.some(({ name }) => name === queue);
  return (
    <Field label={t("Queue")} hint={hint}>
      {(control) => (
        <Select {...control} value={queue} onChange={(event) => onChange(event.target.value)}>
          <option value="">{t("Default")}</option>
          {!known && <option value={queue}>{t("{queue} (not found)", { queue })}</option>}
          {queues
            .filter(({ name }) => name !== "")
            .map(({ name, actions, depth }) => (
              <option key={name} value={name}>
                {t("{name}: {actions} active, {depth} waiting", { name, actions: count(actions), depth: count(depth) })}
              </option>
            ))}
        </Select>
      )}
    </Field>
  );
}
