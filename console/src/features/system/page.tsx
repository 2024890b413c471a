import { useNavigate, useSearch } from "@tanstack/react-router";
import { RefreshCw } from "lucide-react";
import { useTitle } from "@/app/title";
import { IconButton } from "@/design/button";
import { Facts } from "@/design/facts";
import { bytes, dateOf } from "@/design/format";
import { Loading, Notice, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import { Figures } from "./figures";
import { MendedList, Parts } from "./parts";
import { Queues } from "./queues";
import type { SystemSearch } from "./search";
import { Settings } from "./settings";
import { useSystem } from "./use-system";
import css from "./system.module.css";

/** How the installation does, for those who run it. */
export function SystemPage() {
  const search: SystemSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const { system, queues, history, at, stale, error, again } = useSystem();
  useTitle("System");
  return (
    <div className={css["page"]} data-stale={stale || undefined}>
      <header className={css["top"]}>
        <h1>System</h1>
        {at && (
          <span className={css["muted"]}>
            as it was <When at={at} relative />
          </span>
        )}
        <IconButton small label="Look again now" onClick={again}>
          <RefreshCw size={14} aria-hidden />
        </IconButton>
      </header>
      {system && stale && at && (
        <Notice tone="warning" role="alert" title="This is out of date">
          <p>
            The server has not answered since <When at={at} />. It is asked again every few seconds.
          </p>
        </Notice>
      )}
      {error && <ProblemNotice error={error} retry={again} />}
      {!system && !error && <Loading what="the system" />}
      {system && (
        <>
          <Facts
            facts={[
              ["Version", system.version],
              ["Answered by", system.host],
              ["Started", system.startedAt && <When key="started" at={dateOf(system.startedAt)} relative />],
              ["Memory", bytes(Number(system.memoryBytes))],
              ["Built with", system.goVersion],
            ]}
          />
          <Parts components={system.components} />
          {queues && <Queues queues={queues} />}
          <MendedList mended={system.mended} />
          <Figures figures={system.figures} history={history} />
          <Settings settings={system.settings} search={search} onSearch={(next) => void navigate({ to: "/system", search: next, replace: true })} />
        </>
      )}
    </div>
  );
}
