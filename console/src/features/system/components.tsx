import { CircleAlert, CircleCheck } from "lucide-react";
import type { Component, Repair } from "@gen/flytebinary/insight/v1/system_pb.js";
import { count, plural } from "@/design/format";
import { Notice } from "@/design/notice";
import { repairWords, msOfDuration, shortly } from "./words";
import { Wide } from "./wide";
import css from "./system.module.css";

/** The components of the installation, unhealthy ones first. */
export function Components({ components }: { readonly components: readonly Component[] }) {
  const unhealthy = components.filter((one) => !one.healthy);
  return (
    <section className={css["section"]} aria-labelledby="components" data-testid="components">
      <h2 id="components">Components</h2>
      {unhealthy.length === 0 ? (
        <p className={css["good"]}>
          <CircleCheck size={16} aria-hidden /> All {plural(components.length, "component")} healthy.
        </p>
      ) : (
        <Notice tone="danger" role="alert" title={`${unhealthy.length} of ${plural(components.length, "component")} unhealthy`} />
      )}
      <Wide label="Components">
        <thead>
          <tr>
            <th scope="col">Component</th>
            <th scope="col">Status</th>
            <th scope="col" className={css["number"]}>
              Latency
            </th>
            <th scope="col">Details</th>
          </tr>
        </thead>
        <tbody>
          {[...unhealthy, ...components.filter((one) => one.healthy)].map((one) => (
            <tr key={one.name} data-component={one.name}>
              <th scope="row">{one.name}</th>
              <td>
                <span className={css[one.healthy ? "good" : "bad"]}>
                  {one.healthy ? <CircleCheck size={14} aria-hidden /> : <CircleAlert size={14} aria-hidden />} {one.healthy ? "Healthy" : "Unhealthy"}
                </span>
              </td>
              <td className={css["number"]}>{one.latency ? shortly(msOfDuration(one.latency)) : ""}</td>
              <td className={css["words"]}>{one.message}</td>
            </tr>
          ))}
        </tbody>
      </Wide>
    </section>
  );
}

/** The drift that the reconcilers repaired. */
export function Repairs({ repairs }: { readonly repairs: readonly Repair[] }) {
  const made = repairs.filter((one) => one.total > 0n);
  return (
    <section className={css["section"]} aria-labelledby="repairs" data-testid="repairs">
      <h2 id="repairs">Repairs since start</h2>
      {made.length === 0 ? (
        <p className={css["muted"]}>No drift between database, TaskActions and pods.</p>
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
