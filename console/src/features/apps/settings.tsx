import type { AppUse } from "@gen/flytebinary/insight/v1/apps_pb.js";
import type { App, Input, Spec } from "@gen/flyteidl2/app/app_definition_pb.js";
import type { TaskTemplate } from "@gen/flyteidl2/core/tasks_pb.js";
import { Facts } from "@/design/facts";
import { Container } from "@/features/action/pod/pod";
import { containersOf, secretWords } from "@/features/action/pod/specification";
import { t } from "@/texts/texts";
import { uriOf } from "./artifact-uri";
import { Used } from "./used";
import { rangeOf, scalingWords, spanWords } from "./words";
import page from "@/design/page.module.css";

/** What an app declares: its containers, environment, inputs, secrets by name, scaling and address. */
export function Settings({ app: { metadata, spec }, uses }: { readonly app: App; readonly uses: readonly AppUse[] }) {
  if (!spec) return null;
  const { autoscaling, ingress, securityContext, extendedResources, runtimeMetadata, timeouts } = spec;
  const accelerator = extendedResources?.gpuAccelerator;
  return (
    <>
      <Inputs inputs={spec.inputs?.items ?? []} uses={uses} />
      <section className={page["section"]} aria-label={t("Settings")}>
        <h2>{t("Settings")}</h2>
        <Facts
          facts={[
            [t("Secrets"), securityContext && lines(securityContext.secrets.map(secretWords))],
            [t("Service account"), securityContext?.runAs?.k8sServiceAccount],
            ["Sign-in", securityContext && (securityContext.allowAnonymous ? t("not required") : "required")],
            [t("Reached from"), ingress?.private ? t("inside the installation only") : "everywhere"],
            [t("Subdomain"), ingress?.subdomain],
            [t("Host"), ingress?.cname],
            [t("Replicas"), rangeOf(autoscaling)],
            [t("Scales at"), scalingWords(autoscaling)],
            [t("Scales down after"), spanWords(autoscaling?.scaledownPeriod)],
            [t("Request timeout"), spanWords(timeouts?.requestTimeout)],
            [t("Accelerator"), accelerator?.device],
            [t("Shared memory"), extendedResources?.sharedMemory?.sizeLimit],
            [t("Cluster"), spec.cluster],
            [t("Cluster pool"), spec.clusterPool],
            [t("Labels"), lines(Object.entries(metadata?.labels ?? {}).map(([key, value]) => (value ? `${key}=${value}` : key)))],
            [t("Code"), metadata?.codeBundleUri && <code className={page["address"]}>{metadata.codeBundleUri}</code>],
            [t("Client"), runtimeMetadata && `${runtimeMetadata.flavor} ${runtimeMetadata.version}`.trim()],
          ]}
        />
      </section>
      {containersOf(templateOf(spec)).map((container) => (
        <Container key={container.name} container={container} />
      ))}
    </>
  );
}

/** The containers of an app are those of a task by another name. */
function templateOf({ appPayload }: Spec): Pick<TaskTemplate, "target"> {
  return { target: appPayload.case === "pod" ? { case: "k8sPod", value: appPayload.value } : appPayload };
}

function Inputs({ inputs, uses }: { readonly inputs: readonly Input[]; readonly uses: readonly AppUse[] }) {
  if (inputs.length === 0) return null;
  return (
    <section className={page["section"]} aria-label={t("Inputs")}>
      <h2>{t("Inputs")}</h2>
      <Facts
        facts={inputs.map((input) => [input.name, <InputValue key={input.name} input={input} use={uses.find((one) => one.input === input.name)} />] as const)}
      />
    </section>
  );
}

function InputValue({ input: { name, value }, use }: { readonly input: Input; readonly use: AppUse | undefined }) {
  switch (value.case) {
    case "appId":
      return <Used input={name} used={value} />;
    case "artifactId":
      return <Used input={name} used={{ case: "artifactUri", value: uriOf(value.value) }} />;
    default:
      return <Used input={name} used={use?.used ?? { case: "value", value: value.value ?? "" }} actionId={use?.actionId} />;
  }
}

const lines = (words: readonly string[]) =>
  words.length > 0 && (
    <ul>
      {words.map((word) => (
        <li key={word}>{word}</li>
      ))}
    </ul>
  );
