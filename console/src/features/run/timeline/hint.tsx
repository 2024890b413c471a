import { duration } from "@/design/format";
import { Phase } from "@/design/phase";
import { nameOf } from "@/entities/action/identity";
import { none } from "@/entities/run/model/run-model";
import { t } from "@/texts/texts";
import type { Timeline } from "./controller";
import { stageNames } from "./segments";
import { offset } from "./words";
import css from "./timeline.module.css";

/** Only the last segments are listed. */
const maxSegments = 8;

/** The tooltip of a row. */
export function Hint({ timeline, row }: { readonly timeline: Timeline; readonly row: number }) {
  const { model } = timeline;
  const segments = timeline.segments(row);
  const started = model.started(row);
  const several = segments.some((segment) => segment.attempt > 1);
  return (
    <>
      <strong>{nameOf(model, row)}</strong>
      <Phase phase={model.phase(row)} />
      <dl className={css["facts"]}>
        <dt>{t("Created")}</dt>
        <dd>{offset(model.created(row))}</dd>
        {started !== none && (
          <>
            <dt>{t("Started")}</dt>
            <dd>{offset(started)}</dd>
          </>
        )}
        {segments.slice(-maxSegments).map((segment) => (
          <div key={`${segment.from} ${segment.stage}`}>
            <dt>
              {stageNames[segment.stage]}
              {several && t(", attempt {attempt}", { attempt: segment.attempt })}
            </dt>
            <dd>{duration(segment.to - segment.from)}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
