import { Link } from "@tanstack/react-router";
import type { Identifier } from "@gen/flyteidl2/core/identifier_pb.js";
import type { TaskSpec } from "@gen/flyteidl2/task/task_definition_pb.js";
import { Facts } from "@/design/facts";
import { Container, TaskSettings } from "@/features/action/pod/pod";
import { Suggestion } from "@/features/action/resources/resources";
import { containersOf } from "@/features/action/pod/specification";
import css from "@/design/page.module.css";
import { t } from "@/texts/texts";

/** The environment of a task: image, resources, variables, retries, timeouts and cache. */
export function EnvironmentTab({ spec }: { readonly spec: TaskSpec }) {
  const template = spec.taskTemplate;
  const metadata = template?.metadata;
  return (
    <>
      <section className={css["section"]}>
        <h2>{t("Environment")}</h2>
        <Facts
          facts={[
            [t("Name"), spec.environment?.name],
            [t("Workers"), template?.reusePolicy && template.id && <PoolsLink place={template.id} environment={spec.environment?.name} />],
            [t("Description"), spec.environment?.description],
            [t("Code"), metadata?.codeBundleUri && <code className={css["address"]}>{metadata.codeBundleUri}</code>],
            [
              t("Cache"),
              metadata &&
                (metadata.discoverable
                  ? [
                      t("on, version {version}", { version: metadata.discoveryVersion || "–" }),
                      metadata.cacheSerializable && "serialized",
                      metadata.cacheIgnoreInputVars.length > 0 && t("ignores {inputs}", { inputs: metadata.cacheIgnoreInputVars.join(", ") }),
                    ]
                      .filter(Boolean)
                      .join(", ")
                  : "off"),
            ],
            [t("Source"), spec.documentation?.sourceCode?.link && <code className={css["address"]}>{spec.documentation.sourceCode.link}</code>],
          ]}
        />
      </section>
      {containersOf(template).map((container) => (
        <Container key={container.name} container={container} />
      ))}
      {template?.id && <Suggestion of={template.id} />}
      {template && <TaskSettings template={template} />}
    </>
  );
}

/** The pools of a reusable environment, which say whether its workers are busy. */
function PoolsLink({ place: { project, domain }, environment }: { readonly place: Identifier; readonly environment: string | undefined }) {
  return (
    <Link to="/domain/$domain/project/$project/pools" params={{ project, domain }} search={environment ? { environment } : {}}>
      {t("reused, in worker pools")}
    </Link>
  );
}
