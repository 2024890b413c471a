import { Link } from "@tanstack/react-router";
import { DeliveryState, NotificationService, type Delivery } from "@gen/flytebinary/insight/v1/notifications_pb.js";
import { Button } from "@/design/button";
import { dateOf } from "@/design/format";
import { Phase } from "@/design/phase";
import { Note, type TableProps } from "@/design/table";
import { When } from "@/design/time";
import { useDenied } from "@/entities/access/use-denied";
import { t, tn } from "@/texts/texts";
import type { useSendAgain } from "./use-deliveries";
import { canSend, receiverOf, stateLabel } from "./words";
import page from "@/design/page.module.css";
import css from "./notifications.module.css";

/** The table of notifications with the outcome of each; with their runs if they are of several. */
export function deliveryTable(send: ReturnType<typeof useSendAgain>, withRun: boolean): Omit<TableProps<Delivery>, "rows"> {
  return {
    label: t("Notifications"),
    scroll: "region",
    keyOf: ({ id }) => id,
    attributesOf: ({ id }) => ({ "data-testid": "delivery", "data-id": id }),
    columns: [
      withRun && { label: t("Run"), cell: ({ runId }) => runId && <RunCell {...runId} /> },
      {
        label: t("Phase"),
        cell: ({ phase, action }) => (
          <>
            <Phase phase={phase} />
            {action !== "a0" && <Note>{action}</Note>}
          </>
        ),
      },
      {
        label: t("Receiver"),
        wrap: true,
        cell: (delivery) => (
          <>
            {receiverOf(delivery)}
            {delivery.rule && <Note>{t("rule {rule}", { rule: delivery.rule })}</Note>}
          </>
        ),
      },
      { label: t("State"), wrap: true, cell: (delivery) => <State {...delivery} /> },
      { label: t("Created"), cell: ({ createdAt }) => <When at={dateOf(createdAt)} relative /> },
      {
        label: t("Action"),
        hideLabel: true,
        cell: (delivery) => canSend(delivery) && <Send delivery={delivery} send={send} />,
      },
    ],
  };
}

function Send({ delivery, send }: { readonly delivery: Delivery; readonly send: ReturnType<typeof useSendAgain> }) {
  const denied = useDenied(NotificationService.method.retryDelivery, { project: delivery.runId?.project ?? "", domain: delivery.runId?.domain ?? "" });
  return (
    <Button
      small
      denied={denied}
      disabled={send.isPending && send.variables.deliveryId === delivery.id}
      onClick={() => send.mutate({ runId: delivery.runId, deliveryId: delivery.id })}
    >
      {delivery.state === DeliveryState.DEAD ? t("Send again") : t("Send now")}
    </Button>
  );
}

function RunCell({ project, domain, name }: { readonly project: string; readonly domain: string; readonly name: string }) {
  return (
    <>
      <Link to="/domain/$domain/project/$project/runs/$run" params={{ project, domain, run: name }}>
        {name}
      </Link>
      <Note>
        {project} / {domain}
      </Note>
    </>
  );
}

function State({ state, tries, lastError, nextAt }: Delivery) {
  return (
    <>
      <span className={css["state"]} data-state={DeliveryState[state]}>
        {stateLabel(state)}
      </span>{" "}
      {tries > 0 && <small className={page["muted"]}>{tn(tries, "after {n} try", "after {n} tries")}</small>}
      {lastError && <Note>{lastError}</Note>}
      {nextAt && tries > 0 && (
        <Note>
          {t("next try {when}", { when: <When at={dateOf(nextAt)} /> })}
        </Note>
      )}
    </>
  );
}
