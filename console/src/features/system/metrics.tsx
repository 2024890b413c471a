import type { Figure } from "@gen/flytebinary/insight/v1/system_pb.js";
import { t } from "@/texts/texts";
import { amount, groupsOf, historyKey, points, type History } from "./words";
import css from "./system.module.css";

/** The metrics by group, each with its history since the page was opened. */
export function Metrics({ figures, history }: { readonly figures: readonly Figure[]; readonly history: History }) {
  return (
    <section className={css["section"]} aria-labelledby="metrics" data-testid="metrics">
      <h2 id="metrics">{t("Metrics")}</h2>
      <div className={css["groups"]}>
        {groupsOf(figures)
          .filter(([group]) => group !== "Queues") // queues have their own table
          .map(([group, members]) => (
            <section key={group} className={css["group"]} aria-label={group}>
              <h3>{group}</h3>
              <dl>
                {members.map((figure) => (
                  <div key={figure.name} className={css["figure"]}>
                    <dt>
                      {figure.name}
                      <span className={css["about"]}>{figure.description}</span>
                    </dt>
                    <dd>
                      <Line values={history.get(historyKey(figure)) ?? []} />
                      {amount(figure.value, figure.unit)}
                    </dd>
                  </div>
                ))}
              </dl>
            </section>
          ))}
      </div>
    </section>
  );
}

function Line({ values }: { readonly values: readonly number[] }) {
  const drawn = points(values);
  if (drawn === "") return null;
  return (
    <svg className={css["line"]} viewBox="0 -0.05 1 1.1" preserveAspectRatio="none" aria-hidden>
      <polyline points={drawn} vectorEffect="non-scaling-stroke" />
    </svg>
  );
}
