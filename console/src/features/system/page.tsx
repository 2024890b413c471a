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
import { t } from "@/texts/texts";
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
  useTitle(t("System"));
  return (
    <div className={css["page"]} data-stale={stale || undefined}>
      <header className={css["top"]}>
        <h1>{t("System")}</h1>
        {at && (
          <span className={css["muted"]}>
            {t("updated {when}", { when: <When at={at} relative /> })}
          </span>
        )}
        <IconButton small label={t("Refresh")} onClick={refetch}>
          <RefreshCw size={14} aria-hidden />
        </IconButton>
      </header>
      {system && stale && at && (
        <Notice tone="warning" role="alert" title={t("This is out of date")}>
          <p>
            {t("The server has not answered since {when}. The console retries every few seconds.", { when: <When at={at} /> })}
          </p>
        </Notice>
      )}
      {denied !== undefined && <DenialNotice title={t("You may not see the system here")} denial={denied} />}
      {error && denied === undefined && <ProblemNotice error={error} retry={refetch} />}
      {!system && !error && denied === undefined && <Loading what={t("system status")} />}
      {system && (
        <>
          <Facts
            facts={[
              [t("Version"), system.version],
              [t("Host"), system.host],
              [t("Started"), system.startedAt && <When key="started" at={dateOf(system.startedAt)} relative />],
              [t("Memory"), bytes(Number(system.memoryBytes))],
              [t("Built with"), system.goVersion],
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
