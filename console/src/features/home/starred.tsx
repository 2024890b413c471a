import { Link } from "@tanstack/react-router";
import { dateOf } from "@/design/format";
import { Phase } from "@/design/phase";
import { isLive } from "@/design/phases";
import { Span, When } from "@/design/time";
import { titleOf } from "@/entities/action/title";
import { phaseOf } from "@/entities/run/listed";
import { StarButton } from "@/entities/star/star-button";
import { keyOfStar, starredOf, useStars } from "@/entities/star/use-stars";
import { t } from "@/texts/texts";
import css from "./starred.module.css";

/** The runs and tasks that the reader has marked with a star. */
export function Starred() {
  const stars = useStars();
  if (stars.stars.length === 0) return null;
  return (
    <section className={css["starred"]} aria-labelledby="starred" data-testid="starred">
      <h2 id="starred">{t("Starred")}</h2>
      <ul>
        {stars.stars.map(({ target, run }) => {
          const of = starredOf(target);
          if (!of) return null;
          const { project, domain, kind, name } = of;
          const phase = run && phaseOf(run);
          return (
            <li key={keyOfStar(of)}>
              <StarButton of={of} stars={stars} />
              {kind === "task" ? (
                <Link to="/domain/$domain/project/$project/tasks/$task" params={{ project, domain, task: name }}>
                  {name}
                </Link>
              ) : run?.action ? (
                <Link to="/domain/$domain/project/$project/runs/$run" params={{ project, domain, run: name }}>
                  {titleOf(run.action)}
                </Link>
              ) : (
                <span>{name}</span>
              )}
              <span className={css["where"]}>
                {project} / {domain}
                {kind === "run" && run && `, ${name}`}
              </span>
              {kind === "task" && <span className={css["muted"]}>{t("task")}</span>}
              {kind === "run" && !run && <span className={css["muted"]}>{t("deleted")}</span>}
              {phase !== undefined && (
                <>
                  <Phase phase={phase} />
                  {isLive(phase) ? (
                    <Span from={dateOf(run?.action?.status?.startTime)} to={undefined} />
                  ) : (
                    <When at={dateOf(run?.action?.status?.endTime)} relative />
                  )}
                </>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
