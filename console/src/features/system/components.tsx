import { CircleAlert, CircleCheck, TriangleAlert } from "lucide-react";
import type { Component, Repair } from "@gen/flytebinary/insight/v1/system_pb.js";
import { count } from "@/design/format";
import { Notice } from "@/design/notice";
import { Note, Table } from "@/design/table";
import { t, tn } from "@/texts/texts";
import { repairWords, msOfDuration, shortly } from "./words";
import css from "./system.module.css";

/** The components of the installation, unhealthy ones first, then those that work but not as they should. */
export function Components({ components }: { readonly components: readonly Component[] }) {
  const unhealthy = components.filter((one) => !one.healthy);
  const degraded = components.filter((one) => one.healthy && one.degraded);
  return (
    <section className={css["section"]} aria-labelledby="components" data-testid="components">
      <h2 id="components">{t("Components")}</h2>
      {unhealthy.length + degraded.length === 0 && (
        <p className={css["good"]}>
          <CircleCheck size={16} aria-hidden /> {tn(components.length, "All {n} component healthy.", "All {n} components healthy.")}
        </p>
      )}
      {unhealthy.length > 0 && <Notice tone="danger" role="alert" title={tn(components.length, "{unhealthy} of {n} component unhealthy", "{unhealthy} of {n} components unhealthy", { unhealthy: unhealthy.length })} />}
      {degraded.length > 0 && <Notice tone="warning" role="alert" title={tn(components.length, "{degraded} of {n} component degraded", "{degraded} of {n} components degraded", { degraded: degraded.length })} />}
      <Table
        label={t("Components")}
        scroll="group"
        rows={[...unhealthy, ...degraded, ...components.filter((one) => one.healthy && !one.degraded)]}
        keyOf={({ name }) => name}
        attributesOf={({ name }) => ({ "data-component": name })}
        columns={[
          { label: t("Component"), cell: ({ name }) => wordsOf(name) },
          {
            label: t("Status"),
            wrap: true,
            cell: (component) => (
              <>
                <Status component={component} />
                {component.message && <Note>{component.message}</Note>}
              </>
            ),
          },
          { label: t("Latency"), number: true, cell: ({ latency }) => latency && shortly(msOfDuration(latency)) },
        ]}
      />
    </section>
  );
}

/** A loop is named after what it does: "loop: admission". */
function wordsOf(component: string): string {
  const name = /^loop: (.+)$/.exec(component)?.[1];
  return name === undefined ? component : t("{name} loop", { name: `${name.charAt(0).toUpperCase()}${name.slice(1)}` });
}

function Status({ component }: { readonly component: Component }) {
  if (!component.healthy) {
    return (
      <span className={css["bad"]}>
        <CircleAlert size={14} aria-hidden /> {t("Unhealthy")}
      </span>
    );
  }
  if (component.degraded) {
    return (
      <span className={css["fair"]}>
        <TriangleAlert size={14} aria-hidden /> {t("Degraded")}
      </span>
    );
  }
  return (
    <span className={css["good"]}>
      <CircleCheck size={14} aria-hidden /> {t("Healthy")}
    </span>
  );
}

/** The drift that the reconcilers repaired. */
export function Repairs({ repairs }: { readonly repairs: readonly Repair[] }) {
  const made = repairs.filter((one) => one.total > 0n);
  return (
    <section className={css["section"]} aria-labelledby="repairs" data-testid="repairs">
      <h2 id="repairs">{t("Repairs since start")}</h2>
      {made.length === 0 ? (
        <p className={css["muted"]}>{t("No drift between database, TaskActions and pods.")}</p>
      ) : (
        <ul className={css["list"]}>
          {made.map((one) => (
            <li key={one.kind}>
              <strong>{count(one.total)} ×</strong> {repairWords(one.kind)} <code>{one.kind}</code>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
