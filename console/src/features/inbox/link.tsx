import { Link } from "@tanstack/react-router";
import { count } from "@/design/format";
import { t } from "@/texts/texts";
import { usePausedCount } from "./use-paused";
import css from "./inbox.module.css";

/** The link to the inbox, with the number of pending approvals. */
export function InboxLink() {
  const waiting = usePausedCount() ?? 0;
  return (
    <Link to="/inbox">
      {t("Inbox")}
      {waiting > 0 && (
        <>
          <span className={css["count"]} aria-hidden>
            {waiting > 99 ? "99+" : count(waiting)}
          </span>
          <span className="visually-hidden">{t(", {waiting} pending", { waiting })}</span>
        </>
      )}
    </Link>
  );
}
