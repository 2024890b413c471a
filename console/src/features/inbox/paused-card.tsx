import { Link } from "@tanstack/react-router";
import { useId } from "react";
import type { PausedAction } from "@gen/flytebinary/insight/v1/overview_pb.js";
import { dateOf, duration } from "@/design/format";
import { useNow, When } from "@/design/time";
import { typeWords } from "@/entities/value/type-words";
import { Prompt } from "@/features/launch/prompt";
import { SignalForm } from "@/features/launch/signal";
import { t } from "@/texts/texts";
import { Assignee } from "./assignee";
import { Evidence } from "./evidence";
import css from "./inbox.module.css";

export interface PausedCardProps {
  readonly action: PausedAction;
  /** Whether to show project and domain. */
  readonly withPlace: boolean;
  readonly onAnswered: () => void;
  readonly onAssigned: () => void;
}

/** A pending approval: its prompt, run and expiry, and the form to answer it. */
export function PausedCard({ action: { actionId, parent, condition, since, until, assignee }, withPlace, onAnswered, onAssigned }: PausedCardProps) {
  const id = useId();
  const run = actionId?.run;
  if (!run || !condition) return null;
  const { project, domain, name } = run;
  return (
    <article className={css["card"]} aria-labelledby={id} data-testid="paused" data-run={name} data-action={actionId.name}>
      <div className={css["title"]}>
        <h2 id={id}>{condition.name}</h2>
        <span className={css["muted"]}>{typeWords(condition.type)}</span>
      </div>
      <Prompt condition={condition} />
      {condition.description && <p className={css["muted"]}>{condition.description}</p>}
      <p className={css["about"]}>
        <span>
          {t("Run {link}", { link: <Link to="/domain/$domain/project/$project/runs/$run" params={{ project, domain, run: name }} search={{ action: actionId.name }}>
            {name}
          </Link> })}
        </span>
        {withPlace && (
          <span>
            {project} / {domain}
          </span>
        )}
        <span>
          {t("requested {when}", { when: <When at={dateOf(since)} relative /> })}
        </span>
        {until && <Left until={dateOf(until)} />}
      </p>
      <Assignee run={{ project, domain, name }} action={actionId.name} assignee={assignee} onChange={onAssigned} />
      <Evidence run={{ project, domain, name }} parent={parent} />
      <SignalForm run={{ project, domain, name }} action={actionId.name} condition={condition} onDone={onAnswered} />
    </article>
  );
}

function Left({ until }: { readonly until: Date | undefined }) {
  const now = useNow(1000);
  const left = (until?.getTime() ?? 0) - now;
  return <span className={left < 3_600_000 ? css["urgent"] : undefined}>{left > 0 ? t("expires in {left}", { left: duration(left) }) : t("expires now")}</span>;
}
