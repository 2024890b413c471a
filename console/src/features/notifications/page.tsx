import { Link, useSearch } from "@tanstack/react-router";
import { lastPlace } from "@/app/place";
import { useTitle } from "@/app/title";
import { buttonClass } from "@/design/button";
import { ListPage } from "@/design/list-page";
import { Empty, Notice } from "@/design/notice";
import { t } from "@/texts/texts";
import { deliveryTable } from "./delivery-table";
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
  const place = lastPlace();
  useTitle(t("Notifications"), "");
  return (
    <ListPage
      title={t("Notifications")}
      what={t("notifications")}
      more={t("More")}
      head={
        <nav className={css["filter"]} aria-label={t("State")}>
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
          {place && (
            <Link to="/domain/$domain/project/$project/notification-rules" params={place} className={buttonClass("plain", true)}>
              {t("Rules of {project} / {domain}", { project: place.project, domain: place.domain })}
            </Link>
          )}
        </nav>
      }
      empty={
        <Empty title={state === "dead" ? t("All notifications delivered") : t("No notifications")}>
          <p>{t("Failed deliveries appear here, and you can resend them.")}</p>
        </Empty>
      }
      answer={found.answer}
      rows={found.deliveries}
      {...deliveryTable(send, true)}
    >
      {!found.served && <Notice tone="warning" title={t("This server sends no notifications")} role="status" />}
    </ListPage>
  );
}
