import { useQuery } from "@connectrpc/connect-query";
import type { ReactNode } from "react";
import type { ContainerContext, LogContext, PodLogContext } from "@gen/flyteidl2/core/execution_pb.js";
import type { TaskTemplate } from "@gen/flyteidl2/core/tasks_pb.js";
import type { RunSpec } from "@gen/flyteidl2/task/run_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { shellWord } from "@/app/shell-word";
import { CopyButton } from "@/design/copy";
import { Facts, Tag } from "@/design/facts";
import { dateOf, duration } from "@/design/format";
import { Phase } from "@/design/phase";
import { Table } from "@/design/table";
import { Span, When } from "@/design/time";
import { t, tn } from "@/texts/texts";
import type { TabProps } from "../tab";
import { RunLink } from "../summary/action-link";
import { attemptOf } from "../use-action";
import { actionId } from "@/entities/action/name";
import { containersOf, secretWords, variable, type ContainerSpec, type Variable } from "./specification";
import css from "./pod.module.css";

/** The pods of an attempt and the settings of its task and run. Secrets are shown by name only. */
export function PodTab({ action, details, attempt }: TabProps) {
  const chosen = attemptOf(details, attempt);
  const template = details.spec.case === "task" ? details.spec.value.taskTemplate : undefined;
  const { data } = useQuery(RunService.method.getRunDetails, { runId: actionId(action).run }, { staleTime: 60_000 });
  return (
    <>
      <section className={css["section"]}>
        <h3>{t("Pods")}</h3>
        {chosen && <Phase phase={chosen.phase} />}
        <Pods context={chosen?.logContext} cluster={chosen?.cluster ?? ""} />
      </section>
      {containersOf(template).map((container) => (
        <Container key={container.name} container={container} />
      ))}
      {template && <TaskSettings template={template} />}
      {data?.details?.runSpec && <Run spec={data.details.runSpec} />}
    </>
  );
}

function Pods({ context, cluster }: { readonly context: LogContext | undefined; readonly cluster: string }) {
  if (!context || context.pods.length === 0) return <p className={css["muted"]}>{t("This attempt has no pod yet, or needs none.")}</p>;
  return (
    <ul className={css["pods"]}>
      {context.pods.map((pod) => (
        <Pod key={pod.podName} pod={pod} primary={context.pods.length > 1 && pod.podName === context.primaryPodName} cluster={cluster} />
      ))}
    </ul>
  );
}

/** A pod with its containers. The command is for the cluster's own tools: a pod that is gone is unknown there. */
function Pod({ pod, primary, cluster }: { readonly pod: PodLogContext; readonly primary: boolean; readonly cluster: string }) {
  const command = `kubectl describe pod --namespace ${shellWord(pod.namespace)} ${shellWord(pod.podName)}`;
  return (
    <li className={css["pod"]}>
      <div className={css["name"]}>
        <code>{pod.podName}</code>
        <CopyButton text={pod.podName} label={t("Copy pod name")} />
        {primary && <Tag>{t("primary")}</Tag>}
      </div>
      <Facts
        facts={[
          [t("Namespace"), pod.namespace],
          [t("Cluster"), cluster],
          [
            t("Inspect"),
            <span key="command" className={css["copied"]}>
              <code>{command}</code>
              <CopyButton text={command} label={t("Copy command")} />
            </span>,
          ],
        ]}
      />
      <ul className={css["containers"]}>
        {pod.initContainers.map((container) => (
          <Process key={container.containerName} container={container} kind="init" />
        ))}
        {pod.containers.map((container) => (
          <Process
            key={container.containerName}
            container={container}
            kind={pod.containers.length > 1 && container.containerName === pod.primaryContainerName ? "primary" : ""}
          />
        ))}
      </ul>
    </li>
  );
}

/** A container with the times of its process; none if it has not started. */
function Process({ container, kind }: { readonly container: ContainerContext; readonly kind: string }) {
  const start = dateOf(container.process?.containerStartTime);
  const end = dateOf(container.process?.containerEndTime);
  return (
    <li className={css["name"]}>
      <code>{container.containerName}</code>
      {kind && <Tag>{kind}</Tag>}
      {start && (
        <span className={css["muted"]}>
          {t("started {when}", { when: <When at={start} /> })}
          {end && end > start && (
            <>
              {t(", for {span}", { span: <Span from={start} to={end} /> })}
            </>
          )}
        </span>
      )}
    </li>
  );
}

/** A container of the task template. */
export function Container({ container }: { readonly container: ContainerSpec }) {
  return (
    <section className={css["section"]}>
      <h3>{t("Container {name}", { name: container.name })}</h3>
      <Facts
        facts={[
          [
            t("Image"),
            container.image && (
              <span className={css["copied"]}>
                <code>{container.image}</code>
                <CopyButton text={container.image} label={t("Copy image")} />
              </span>
            ),
          ],
          [t("Ports"), container.ports.join(", ")],
        ]}
      />
      {container.resources.length > 0 && (
        <Table
          label={t("Resources of {name}", { name: container.name })}
          scroll="group"
          rows={container.resources}
          keyOf={([name]) => name}
          columns={[
            { label: t("Resource"), cell: ([name]) => name },
            { label: t("Request"), cell: ([, requested]) => requested || "–" },
            { label: t("Limit"), cell: ([, , limit]) => limit || "–" },
          ]}
        />
      )}
      {container.command.length > 0 && (
        <details className={css["more"]}>
          <summary>{t("Command")}</summary>
          <code className={css["command"]}>{container.command.map(shellWord).join(" ")}</code>
        </details>
      )}
      <Environment variables={container.environment} />
    </section>
  );
}

/** The variables of a container, folded: there may be many. Values that look like secrets are hidden. */
function Environment({ variables }: { readonly variables: readonly Variable[] }) {
  if (variables.length === 0) return null;
  return (
    <details className={css["more"]}>
      <summary>{tn(variables.length, "{n} environment variable", "{n} environment variables")}</summary>
      <Facts facts={variables.map(({ name, value, hidden }) => [name, hidden ? <em className={css["muted"]}>{t("hidden")}</em> : value || '""'] as const)} />
    </details>
  );
}

/** A duration of the contract as text; empty if unset, so that the fact is left out. */
const seconds = (span: { readonly seconds: bigint; readonly nanos: number } | undefined): string =>
  span ? duration(Number(span.seconds) * 1000 + span.nanos / 1e6) : "";

/** The settings of a task apart from its containers. */
export function TaskSettings({ template }: { readonly template: TaskTemplate }) {
  const { metadata, securityContext, extendedResources, reusePolicy } = template;
  const pod = template.target.case === "k8sPod" ? template.target.value.metadata : metadata?.metadata;
  const accelerator = extendedResources?.gpuAccelerator;
  const shared = extendedResources?.sharedMemory;
  return (
    <section className={css["section"]}>
      <h3>{t("Task settings")}</h3>
      <Facts
        facts={[
          [t("Type"), template.type],
          [t("Service account"), securityContext?.runAs?.k8sServiceAccount],
          [t("IAM role"), securityContext?.runAs?.iamRole],
          [t("Secrets"), securityContext && list(securityContext.secrets.map(secretWords))],
          [
            t("Accelerator"),
            accelerator &&
              [accelerator.device, accelerator.partitionSizeValue.case === "partitionSize" ? accelerator.partitionSizeValue.value : ""]
                .filter(Boolean)
                .join(", "),
          ],
          [t("Shared memory"), shared && [shared.sizeLimit, shared.mountPath].filter(Boolean).join(" at ")],
          [t("Retries"), metadata?.retries && String(metadata.retries.retries)],
          [t("Attempt timeout"), seconds(metadata?.timeout)],
          [t("Queue timeout"), seconds(metadata?.timeouts?.queuedTimeout)],
          [t("Deadline"), seconds(metadata?.timeouts?.deadline)],
          [t("Cache version"), metadata?.discoverable && metadata.discoveryVersion],
          [t("Interruptible"), metadata?.interruptibleValue.case === "interruptible" && (metadata.interruptibleValue.value ? "yes" : "no")],
          [t("Pod template"), metadata?.podTemplateName],
          [t("Reused by"), reusePolicy && t("{minReplicas} to {maxReplicas} workers", { minReplicas: reusePolicy.minReplicas, maxReplicas: reusePolicy.maxReplicas })],
          [t("Labels"), pod && list(pairs(pod.labels))],
          [t("Annotations"), pod && list(pairs(pod.annotations))],
          [t("Image built by"), metadata?.imageBuildRun && <RunLink run={metadata.imageBuildRun} />],
          [t("Client"), metadata?.runtime && `${metadata.runtime.flavor} ${metadata.runtime.version}`.trim()],
        ]}
      />
    </section>
  );
}

/** What the run overrides for all of its tasks; nothing if it overrides nothing. */
function Run({ spec }: { readonly spec: RunSpec }) {
  const variables = spec.envs?.values.map(({ key, value }) => variable(key, value)) ?? [];
  const facts: readonly (readonly [string, ReactNode])[] = [
    [t("Queue"), spec.queue],
    [t("Service account"), spec.securityContext?.runAs?.k8sServiceAccount],
    [t("Labels"), spec.labels && list(pairs(spec.labels.values))],
    [t("Annotations"), spec.annotations && list(pairs(spec.annotations.values))],
    [t("Max parallel actions"), spec.maxActionConcurrency > 0 && String(spec.maxActionConcurrency)],
    [t("Interruptible"), spec.interruptible !== undefined && (spec.interruptible ? "yes" : "no")],
  ];
  if (variables.length === 0 && facts.every(([, value]) => !value)) return null;
  return (
    <section className={css["section"]}>
      <h3>{t("Run overrides")}</h3>
      <Facts facts={facts} />
      <Environment variables={variables} />
    </section>
  );
}

const pairs = (map: Readonly<Record<string, string>>): string[] => Object.entries(map).map(([key, value]) => (value ? `${key}=${value}` : key));

const list = (words: readonly string[]): ReactNode =>
  words.length > 0 && (
    <span className={css["tags"]}>
      {words.map((word) => (
        <Tag key={word}>{word}</Tag>
      ))}
    </span>
  );
