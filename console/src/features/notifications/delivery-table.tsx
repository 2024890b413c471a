import { Link } from "@tanstack/react-router";
import { DeliveryState, type Delivery } from "@gen/flytebinary/insight/v1/notifications_pb.js";
import { Button } from "@/design/button";
import { dateOf, plural } from "@/design/format";
import { Phase } from "@/design/phase";
import { When } from "@/design/time";
import { canSend, receiverOf, stateLabel } from "./words";
import css from "./notifications.module.css";

export interface DeliveryTableProps {
  readonly deliveries: readonly Delivery[];
  /** Whether to show the run of each notification. */
  readonly withRun?: boolean;
  /** The id of the notification that is being sent. */
  readonly sending: string | undefined;
  readonly onSend: (delivery: Delivery) => void;
}

/** Notifications with what became of them. */
export function DeliveryTable({ deliveries, withRun = false, sending, onSend }: DeliveryTableProps) {
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls
    <div className={css["scroll"]} role="region" aria-label="Notifications" tabIndex={0}>
      <table className={css["table"]}>
        <thead>
          <tr>
            {withRun && <th scope="col">Run</th>}
            <th scope="col">Phase</th>
            <th scope="col">Receiver</th>
            <th scope="col">State</th>
            <th scope="col">Created</th>
            <th scope="col">
              <span className="visually-hidden">Action</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {deliveries.map((delivery) => (
            <Row key={delivery.id} delivery={delivery} withRun={withRun} sending={sending === delivery.id} onSend={() => onSend(delivery)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly delivery: Delivery;
  readonly withRun: boolean;
  readonly sending: boolean;
  readonly onSend: () => void;
}

function Row({ delivery, withRun, sending, onSend }: RowProps) {
  const { runId: run, state, tries, lastError, nextAt, createdAt, phase, rule, action } = delivery;
  return (
    <tr data-testid="delivery" data-id={delivery.id}>
      {withRun && run && (
        <th scope="row">
          <Link to="/domain/$domain/project/$project/runs/$run" params={{ project: run.project, domain: run.domain, run: run.name }}>
            {run.name}
          </Link>
          <div className={css["muted"]}>
            {run.project} / {run.domain}
          </div>
        </th>
      )}
      <td>
        <Phase phase={phase} />
        {action !== "a0" && <div className={css["muted"]}>{action}</div>}
      </td>
      <td className={css["words"]}>
        {receiverOf(delivery)}
        {rule && <div className={css["muted"]}>rule {rule}</div>}
      </td>
      <td className={css["words"]}>
        <span className={css["state"]} data-state={DeliveryState[state]}>
          {stateLabel(state)}
        </span>{" "}
        {tries > 0 && <span className={css["muted"]}>after {plural(tries, "try", "tries")}</span>}
        {lastError && <div className={css["muted"]}>{lastError}</div>}
        {nextAt && tries > 0 && (
          <div className={css["muted"]}>
            next try <When at={dateOf(nextAt)} />
          </div>
        )}
      </td>
      <td>
        <When at={dateOf(createdAt)} relative />
      </td>
      <td>
        {canSend(delivery) && (
          <Button small disabled={sending} onClick={onSend}>
            {state === DeliveryState.DEAD ? "Send again" : "Send now"}
          </Button>
        )}
      </td>
    </tr>
  );
}
