import { useState } from "react";
import { ClusterEvent_Type, type ClusterEvent } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { Button } from "@/design/button";
import { Tag } from "@/design/facts";
import { count, dateOf } from "@/design/format";
import { SaidText } from "@/design/said";
import { When } from "@/design/time";
import { sayMessage } from "@/texts/server";
import { t } from "@/texts/texts";
import { useClusterEvents } from "../use-action";
import type { ActionName } from "@/entities/action/name";
import css from "./summary.module.css";

/** A pod that is retried has dozens of events, of which the latest explain its state. */
const initialLimit = 8;

/** The cluster events of an attempt, latest first. */
export function Events({ action, attempt, live }: { readonly action: ActionName; readonly attempt: number; readonly live: boolean }) {
  const { state: events } = useClusterEvents(action, attempt, live);
  const [all, setAll] = useState(false);
  if (!events || events.length === 0) return null;
  const latestFirst = [...events].reverse();
  const shown = all ? latestFirst : latestFirst.slice(0, initialLimit);
  return (
    <section className={css["section"]}>
      <h3>{t("Events")}</h3>
      <ol className={css["events"]}>
        {shown.map((event, at) => (
          <Event key={latestFirst.length - at} event={event} />
        ))}
      </ol>
      {shown.length < latestFirst.length && (
        <div>
          <Button small onClick={() => setAll(true)}>
            {t("Show all {count}", { count: count(latestFirst.length) })}
          </Button>
        </div>
      )}
    </section>
  );
}

function Event({ event }: { readonly event: ClusterEvent }) {
  return (
    <li data-warning={event.type === ClusterEvent_Type.WARNING || undefined}>
      <When at={dateOf(event.occurredAt)} />
      <span>
        {event.reason && <Tag>{event.reason}</Tag>} {event.message !== event.reason && <SaidText of={sayMessage(event.message)} />}
        {event.count > 1 && <span className={css["muted"]}> {t("({count} times)", { count: count(event.count) })}</span>}
      </span>
    </li>
  );
}
