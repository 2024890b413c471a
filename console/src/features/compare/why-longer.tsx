import { useMemo } from "react";
import { duration } from "@/design/format";
import type { RunModel } from "@/entities/run/model/run-model";
import { t } from "@/texts/texts";
import { reasonsOf, type Cause } from "./why";
import css from "./compare.module.css";

const shown = 8;

export interface WhyLongerProps {
  readonly left: RunModel;
  readonly right: RunModel;
  /** The versions of the models, which change in place. */
  readonly versions: readonly number[];
  readonly marks: readonly [string, string];
}

/** Which of two runs took longer, and by how many milliseconds. */
function difference(a: string, b: string, by: number): string {
  if (Math.abs(by) < 1) return t("{a} and {b} took equally long", { a, b });
  const time = duration(Math.abs(by));
  return by > 0 ? t("{b} took {time} longer than {a}", { b, time, a }) : t("{b} took {time} less than {a}", { b, time, a });
}

/** Why one of two runs took longer, from their critical paths. */
export function WhyLonger({ left, right, versions, marks: [a, b] }: WhyLongerProps) {
  // eslint-disable-next-line react-hooks/exhaustive-deps -- the models change in place; their versions say when
  const reasons = useMemo(() => reasonsOf(left, right), [left, right, ...versions]);
  const by = reasons.b - reasons.a;
  return (
    <div data-testid="why-longer" className={css["section"]}>
      <p>
        {t("{difference}: {a} and {b}. On the critical paths:", { difference: difference(a, b, by), a: duration(reasons.a), b: duration(reasons.b) })}
      </p>
      {reasons.causes.length === 0 && <p className={css["muted"]}>{t("No task differs.")}</p>}
      <ul className={css["causes"]}>
        {reasons.causes.slice(0, shown).map((cause) => (
          <li key={`${cause.kind} ${cause.title}`}>
            <span className={cause.by > 0 ? css["slower"] : css["faster"]}>
              {cause.by > 0 ? "+" : "−"}
              {duration(Math.abs(cause.by))}
            </span>{" "}
            {words(cause)} <span className={css["muted"]}>{t("{a} and {b}", { a: duration(cause.a), b: duration(cause.b) })}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

const words = ({ title, kind }: Cause): string => (kind === "worked" ? title : t("waiting for {title} to start", { title }));
