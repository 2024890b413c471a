import { Code } from "@connectrpc/connect";
import { useState } from "react";
import { isLive } from "@/design/phases";
import { Empty } from "@/design/notice";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { CatalogCacheStatus } from "@gen/flyteidl2/core/catalog_pb.js";
import { t } from "@/texts/texts";
import type { TabProps } from "../tab";
import { attemptOf } from "../use-action";
import type { LogStore } from "./log-store";
import { LogView } from "./log-view";
import { SourcePicker } from "./source-picker";
import type { Source } from "./tail";
import { useLog, useVersion } from "./use-log";

/** The log of an attempt, live while it runs. */
export function LogsTab({ action, details, attempt, line, onChange }: TabProps & { readonly line?: number | undefined }) {
  const context = attemptOf(details, attempt)?.logContext;
  const phase = details.attempts.find((one) => one.attempt === attempt)?.phase ?? ActionPhase.UNSPECIFIED;
  const live = isLive(phase) && isLive(details.status?.phase ?? ActionPhase.UNSPECIFIED);
  const [source, setSource] = useState<Source>({ kind: "primary" });
  const store = useLog(action, attempt, source, live);
  const missing = useMissing(store);
  if (attempt === 0) return <Empty title={t("No log yet")}>{t("The action has not started.")}</Empty>;
  if (missing !== undefined) {
    const cached = details.status?.cacheStatus === CatalogCacheStatus.CACHE_HIT;
    return <Empty title={t("No log")}>{cached ? t("Cache hit: the action did not run.") : missing}</Empty>;
  }
  return (
    <LogView
      store={store}
      live={live}
      line={line}
      onLine={(next) => onChange({ line: next })}
      name={`${action.run.name}-${action.name}-${attempt}.log`}
      picker={<SourcePicker context={context} source={source} onSource={setSource} />}
    />
  );
}

/** Why there is no log; undefined if there is one, or may be. */
function useMissing(store: LogStore): string | undefined {
  useVersion(store);
  const { reading } = store;
  return reading.state === "failed" && reading.problem.code === Code.NotFound && store.size === 0 ? reading.problem.message : undefined;
}
