import { useNavigate, useSearch } from "@tanstack/react-router";
import { RefreshCw } from "lucide-react";
import { SystemService } from "@gen/flytebinary/insight/v1/system_pb.js";
import { useTitle } from "@/app/title";
import { IconButton } from "@/design/button";
import { Facts } from "@/design/facts";
import { bytes, dateOf } from "@/design/format";
import { DenialNotice, Loading, Notice, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import { everywhere } from "@/entities/access/rights";
import { useDenied, useMayRead } from "@/entities/access/use-denied";
import { Metrics } from "./metrics";
import { Components, Repairs } from "./components";
import { Connectors } from "./connectors";
import { Queues } from "./queues";
import type { SystemSearch } from "./search";
import { Settings } from "./settings";
import { useSystem } from "./use-system";
import css from "./system.module.css";

/** The status of the installation, for its operators. */
export function SystemPage() {
  const search: SystemSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const denied = useDenied(SystemService.method.getSystem, everywhere);
  const { system, queues, history, at, stale, error, refetch } = useSystem(useMayRead(denied));
  useTitle("System");
  return (
    <div className={css["page"]} data-stale={stale || undefined}>
      <header className={css["top"]}>
        <h1>System</h1>
        {at && (
          <span className={css["muted"]}>
            updated <When at={at} relative />
          </span>
        )}
        <IconButton small label="Refresh" onClick={refetch}>
          <RefreshCw size={14} aria-hidden />
        </IconButton>
      </header>
      {system && stale && at && (
        <Notice tone="warning" role="alert" title="This is out of date">
          <p>
            The server has not answered since <When at={at} />. The console retries every few seconds.
          </p>
        </Notice>
      )}
      {denied !== undefined && <DenialNotice title="You may not see the system here" denial={denied} />}
      {error && denied === undefined && <ProblemNotice error={error} retry={refetch} />}
      {!system && !error && denied === undefined && <Loading what="system status" />}
      {system && (
        <>
          <Facts
            facts={[
              ["Version", system.version],
              ["Host", system.host],
              ["Started", system.startedAt && <When key="started" at={dateOf(system.startedAt)} relative />],
              ["Memory", bytes(Number(system.memoryBytes))],
              ["Built with", system.goVersion],
            ]}
          />
          <Components components={system.components} />
          {queues && <Queues queues={queues} />}
          <Connectors />
          <Repairs repairs={system.repairs} />
          <Metrics figures={system.figures} history={history} />
          <Settings settings={system.settings} search={search} onSearch={(next) => void navigate({ to: "/system", search: next, replace: true })} />
        </>
      )}
    </div>
  );
}
