import { Link, useSearch } from "@tanstack/react-router";
import { useTitle } from "@/app/title";
import { Button, buttonClass } from "@/design/button";
import { Empty, Loading, Notice, ProblemNotice } from "@/design/notice";
import { DeliveryTable } from "./delivery-table";
import type { NotificationsSearch } from "./search";
import { useDeliveries, useSendAgain } from "./use-deliveries";
import { stateLooks, stateOf } from "./words";
import css from "./notifications.module.css";

/** The notifications of all runs: first those that could not be delivered, which people can send again. */
export function NotificationsPage() {
  const search: NotificationsSearch = useSearch({ strict: false });
  const state = search.state ?? "dead";
  const found = useDeliveries(undefined, stateOf(state));
  const send = useSendAgain();
  useTitle("Notifications", "");
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1>Notifications</h1>
        <nav className={css["filter"]} aria-label="State">
          {stateLooks.map(({ key, label }) => (
            <Link
              key={key}
              to="/notifications"
              search={key === "dead" ? {} : { state: key }}
              className={buttonClass("plain", true)}
              aria-current={key === state ? "page" : undefined}
            >
              {label}
            </Link>
          ))}
        </nav>
      </div>
      {!found.served && <Notice tone="warning" title="This server sends no notifications" role="status" />}
      {found.served && found.error && <ProblemNotice error={found.error} retry={found.refetch} />}
      {found.loading && <Loading what="notifications" />}
      {!found.loading && !found.error && found.deliveries.length === 0 && (
        <Empty title={state === "dead" ? "Every notification was delivered" : "No notifications"}>
          <p>Notifications that could not be delivered are listed here, and can be sent again.</p>
        </Empty>
      )}
      {found.deliveries.length > 0 && (
        <DeliveryTable
          deliveries={found.deliveries}
          withRun
          sending={send.isPending ? send.variables.deliveryId : undefined}
          onSend={({ runId, id }) => send.mutate({ runId, deliveryId: id })}
        />
      )}
      {found.more && (
        <div>
          <Button onClick={found.more}>More</Button>
        </div>
      )}
    </div>
  );
}
