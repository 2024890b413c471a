import { useQuery } from "@connectrpc/connect-query";
import { useEffect } from "react";
import { AppInsightService } from "@gen/flytebinary/insight/v1/apps_pb.js";
import type { App } from "@gen/flyteidl2/app/app_definition_pb.js";
import type { WatchResponse } from "@gen/flyteidl2/app/app_payload_pb.js";
import { AppService } from "@gen/flyteidl2/app/app_service_pb.js";
import { client } from "@/api/transport";
import { useWatch } from "@/api/use-watch";
import { t } from "@/texts/texts";
import type { AppId } from "./id";
import { isPassing, shownOf } from "./words";

/** How often the explanation is asked for while the state is changing and while it is not, in milliseconds. */
const refresh = { passing: 2_000, settled: 5_000 };

interface Known {
  readonly app: App | undefined;
  readonly deleted: boolean;
}

export function fold(_: Known | undefined, { event }: WatchResponse): Known {
  switch (event.case) {
    case "createEvent":
      return { app: event.value.app, deleted: false };
    case "updateEvent":
      return { app: event.value.updatedApp, deleted: false };
    case "deleteEvent":
      return { app: event.value.app, deleted: true };
    default:
      return { app: undefined, deleted: false };
  }
}

/** An app as it is now, with what explains it. */
export function useApp(id: AppId) {
  const { state } = useWatch(
    t("app {project}/{domain}/{name}", { project: id.project, domain: id.domain, name: id.name }),
    (signal) => client(AppService).watch({ target: { case: "appId", value: id } }, { signal }),
    fold,
  );
  const deleted = state?.deleted ?? false;
  const explained = useQuery(
    AppInsightService.method.explainApp,
    { appId: id },
    { enabled: !deleted, refetchInterval: ({ state: { data } }) => (isPassing(shownOf(data?.app)) ? refresh.passing : refresh.settled) },
  );
  const { refetch } = explained;
  const live = state?.app;
  // Each event changes what the explanation says.
  useEffect(() => {
    if (live && !deleted) void refetch();
  }, [live, deleted, refetch]);
  return { app: live ?? explained.data?.app, deleted, explained };
}
