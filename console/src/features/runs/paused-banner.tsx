import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import type { Place } from "@/app/place";
import { useDestinations } from "@/app/places";
import { Button } from "@/design/button";
import { dateOf } from "@/design/format";
import { Notice } from "@/design/notice";
import { When } from "@/design/time";
import { t, tn } from "@/texts/texts";
import css from "./list.module.css";

const every = 10_000;

/** Links to the pending approvals. Empty if there are none, or if the server cannot list them. */
export function PausedBanner({ place }: { readonly place: Place }) {
  const answer = useQuery(
    InsightService.method.listPausedActions,
    { ...place, limit: 1 },
    { retry: false, refetchInterval: (query) => (query.state.error ? false : every) },
  );
  const inbox = useDestinations().find(({ keys }) => keys === "g i");
  const total = answer.data?.total ?? 0;
  const since = dateOf(answer.data?.actions[0]?.since);
  if (total === 0) return null;
  return (
    <Notice tone="warning" role="status">
      <div className={css["bar"]} data-testid="paused-banner">
        <strong>{tn(total, "{n} approval pending", "{n} approvals pending")}</strong>
        {since && (
          <span>
            {total > 1 ? `${t("oldest:")} ` : ""}
            <When at={since} relative />
          </span>
        )}
        {inbox && (
          <Button small onClick={inbox.go}>
            {t("Review")}
          </Button>
        )}
        <Link to="/domain/$domain/project/$project/runs" params={place} search={{ query: "is:paused" }}>
          {t("Show runs")}
        </Link>
      </div>
    </Notice>
  );
}
