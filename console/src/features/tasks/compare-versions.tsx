import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { CodeService } from "@gen/flytebinary/insight/v1/code_pb.js";
import { TaskHealthService } from "@gen/flytebinary/insight/v1/health_pb.js";
import { TaskService } from "@gen/flyteidl2/task/task_service_pb.js";
import type { TaskSpec } from "@gen/flyteidl2/task/task_definition_pb.js";
import type { Place } from "@/app/place";
import { Diff } from "@/design/diff";
import { Select } from "@/design/field";
import { Loading, ProblemNotice } from "@/design/notice";
import { typeWords } from "@/entities/value/type-words";
import { containersOf } from "@/features/action/pod/specification";
import css from "@/design/page.module.css";
import { t } from "@/texts/texts";

interface CompareProps {
  readonly place: Place;
  readonly task: string;
  /** The versions, the latest deployment first; at least two. */
  readonly versions: readonly string[];
}

/** What changed between two versions of a task: its environment and its code. */
export function CompareVersions({ place, task, versions }: CompareProps) {
  const [chosen, choose] = useState<{ readonly before?: string; readonly after?: string }>({});
  const after = chosen.after ?? versions[0] ?? "";
  const before = chosen.before ?? versions[1] ?? "";
  return (
    <section className={css["section"]} aria-label={t("Compare versions")} data-testid="compare-versions">
      <div className={css["head"]}>
        <h2>{t("Compare versions")}</h2>
        <VersionSelect label={t("Earlier version")} versions={versions} value={before} onChange={(version) => choose({ ...chosen, before: version })} />
        <VersionSelect label={t("Later version")} versions={versions} value={after} onChange={(version) => choose({ ...chosen, after: version })} />
      </div>
      <Environments place={place} task={task} before={before} after={after} />
      <Codes key={`${before} ${after}`} place={place} task={task} before={before} after={after} />
    </section>
  );
}

function VersionSelect({
  label,
  versions,
  value,
  onChange,
}: {
  readonly label: string;
  readonly versions: readonly string[];
  readonly value: string;
  readonly onChange: (version: string) => void;
}) {
  return (
    <Select aria-label={label} className={css["select"]} value={value} onChange={({ target }) => onChange(target.value)}>
      {versions.map((version) => (
        <option key={version} value={version}>
          {version}
        </option>
      ))}
    </Select>
  );
}

interface PairProps {
  readonly place: Place;
  readonly task: string;
  readonly before: string;
  readonly after: string;
}

function useSpec({ place, task }: PairProps, version: string) {
  return useQuery(TaskService.method.getTaskDetails, { taskId: { org: "flyte", ...place, name: task, version } }, { staleTime: Infinity });
}

function Environments(props: PairProps) {
  const before = useSpec(props, props.before);
  const after = useSpec(props, props.after);
  const error = before.error ?? after.error;
  if (error) return <ProblemNotice error={error} />;
  const specs = [before.data?.details?.spec, after.data?.details?.spec] as const;
  if (!specs[0] || !specs[1]) return <Loading what={t("versions")} />;
  return (
    <>
      <h3>{t("Environment and interface")}</h3>
      <Diff label={t("Environment and interface")} before={textOf(specs[0])} after={textOf(specs[1])} equal={t("The environment and the interface are the same.")} />
    </>
  );
}

/** What a version runs in and takes, a line each. Values of variables that may be secret are hidden. */
export function textOf(spec: TaskSpec): string {
  const template = spec.taskTemplate;
  const metadata = template?.metadata;
  const lines = [
    t("environment: {name}", { name: spec.environment?.name ?? "" }),
    ...containersOf(template).flatMap((container) => [
      t("image: {image}", { image: container.image }),
      ...container.resources.map(([name, requested, limit]) => `${name}: ${requested || "–"}${limit ? ` ${t("to {limit}", { limit })}` : ""}`),
      ...container.environment.map(({ name, value, hidden }) => t("variable {name}: {value}", { name, value: hidden ? "(hidden)" : value })),
    ]),
    t("retries: {retries}", { retries: metadata?.retries?.retries ?? 0 }),
    t("cache: {value}", { value: metadata?.discoverable ? t("version {version}", { version: metadata.discoveryVersion }) : t("off") }),
    ...(template?.interface?.inputs?.variables ?? []).map(({ key, value }) => t("input {name}: {type}", { name: key, type: typeWords(value?.type) })),
    ...(template?.interface?.outputs?.variables ?? []).map(({ key, value }) => t("output {name}: {type}", { name: key, type: typeWords(value?.type) })),
    t("code: {bundle}", { bundle: metadata?.codeBundleUri.split("/").at(-1) ?? "" }),
  ];
  return lines.join("\n") + "\n";
}

/** The code of a version, as an action that ran it knows it. */
function useCode({ place, task }: PairProps, version: string, path: string) {
  const projectId = { name: place.project, domain: place.domain };
  const actions = useQuery(TaskHealthService.method.listTaskActions, { projectId, task, version, limit: 1 }, { staleTime: 60_000 });
  const actionId = actions.data?.actions[0]?.actionId;
  const code = useQuery(CodeService.method.getCode, { ...(actionId && { actionId }), path }, { enabled: actionId !== undefined, staleTime: Infinity });
  return { ran: !actions.isSuccess || actionId !== undefined, error: actions.error ?? code.error, code: code.data };
}

function Codes(props: PairProps) {
  const [path, setPath] = useState("");
  const before = useCode(props, props.before, path);
  const after = useCode(props, props.after, path);
  const missing = [!before.ran && props.before, !after.ran && props.after].filter((version) => version !== false);
  if (missing.length > 0) return <p className={css["muted"]}>{t("The code can be compared once both versions have run. Not yet run: {missing}.", { missing: missing.join(", ") })}</p>;
  // A file that only one of the versions has is compared with nothing.
  const texts = [before, after].map(({ code, error }) => (code ? code.text : error && path !== "" ? "" : undefined));
  const error = before.error ?? after.error;
  if (error && path === "") return <ProblemNotice error={error} />;
  if (texts[0] === undefined || texts[1] === undefined) return <Loading what={t("code")} />;
  const files = [...new Set([...(before.code?.files ?? []), ...(after.code?.files ?? [])].map((file) => file.path))].sort();
  const shown = path || after.code?.path || before.code?.path || "";
  if (files.length === 0) return <p className={css["muted"]}>{after.code?.missing || before.code?.missing || t("No code available")}</p>;
  return (
    <>
      <div className={css["head"]}>
        <h3>{t("Code")}</h3>
        <Select aria-label={t("File")} className={css["select"]} value={shown} onChange={({ target }) => setPath(target.value)}>
          {files.map((file) => (
            <option key={file} value={file}>
              {file}
            </option>
          ))}
        </Select>
      </div>
      <Diff label={t("Code of {shown}", { shown })} before={texts[0]} after={texts[1]} equal={t("This file is the same in both versions.")} />
    </>
  );
}
