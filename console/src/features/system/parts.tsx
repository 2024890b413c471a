import { CircleAlert, CircleCheck } from "lucide-react";
import type { Component, Mended } from "@gen/flytebinary/insight/v1/system_pb.js";
import { count, plural } from "@/design/format";
import { Notice } from "@/design/notice";
import { mendedWords, msOfDuration, shortly } from "./words";
import { Wide } from "./wide";
import css from "./system.module.css";

/** The parts of the installation, those that are not well first. */
export function Parts({ components }: { readonly components: readonly Component[] }) {
  const ill = components.filter((one) => !one.healthy);
  return (
    <section className={css["section"]} aria-labelledby="parts" data-testid="components">
      <h2 id="parts">Parts</h2>
      {ill.length === 0 ? (
        <p className={css["good"]}>
          <CircleCheck size={16} aria-hidden /> All {plural(components.length, "part")} work.
        </p>
      ) : (
        <Notice tone="danger" role="alert" title={`${ill.length} of ${plural(components.length, "part")} ${ill.length === 1 ? "does" : "do"} not work`} />
      )}
      <Wide label="Parts">
        <thead>
          <tr>
            <th scope="col">Part</th>
            <th scope="col">State</th>
            <th scope="col" className={css["number"]}>
              Answer time
            </th>
            <th scope="col">What there is to say</th>
          </tr>
        </thead>
        <tbody>
          {[...ill, ...components.filter((one) => one.healthy)].map((one) => (
            <tr key={one.name} data-component={one.name}>
              <th scope="row">{one.name}</th>
              <td>
                <span className={css[one.healthy ? "good" : "bad"]}>
                  {one.healthy ? <CircleCheck size={14} aria-hidden /> : <CircleAlert size={14} aria-hidden />} {one.healthy ? "Works" : "Does not work"}
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

/** What the reconcilers put right. */
export function MendedList({ mended }: { readonly mended: readonly Mended[] }) {
  const some = mended.filter((one) => one.total > 0n);
  return (
    <section className={css["section"]} aria-labelledby="mended" data-testid="mended">
      <h2 id="mended">Mended since the start</h2>
      {some.length === 0 ? (
        <p className={css["muted"]}>Nothing had to be mended: database, TaskActions and pods agree.</p>
      ) : (
        <ul className={css["list"]}>
          {some.map((one) => (
            <li key={one.kind}>
              <strong>{count(one.total)} ×</strong> {mendedWords(one.kind)} <code>{one.kind}</code>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
