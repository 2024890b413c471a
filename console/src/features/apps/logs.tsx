import { useEffect, useMemo, useRef } from "react";
import type { AppReplica } from "@gen/flytebinary/insight/v1/apps_pb.js";
import { AppLogsService } from "@gen/flyteidl2/app/app_logs_service_pb.js";
import { binaryClient } from "@/api/transport";
import { Select } from "@/design/field";
import { LogStore } from "@/features/action/logs/log-store";
import { LogView } from "@/features/action/logs/log-view";
import { t } from "@/texts/texts";
import type { AppId } from "./id";
import { tail } from "./tail";
import css from "./apps.module.css";

export interface AppLogsProps {
  readonly id: AppId;
  readonly replicas: readonly AppReplica[];
  /** The replica whose log is shown; all if undefined. */
  readonly replica: string | undefined;
  readonly line: number | undefined;
  readonly onChange: (next: { readonly replica: string | undefined; readonly line: number | undefined }) => void;
}

/** The logs of an app's replicas, live. */
export function AppLogs({ id, replicas, replica, line, onChange }: AppLogsProps) {
  const gone = replicas.some((one) => one.name === replica && one.gone);
  const store = useAppLog(id, replica, gone);
  return (
    <LogView
      key={replica}
      store={store}
      live={!gone}
      line={line}
      onLine={(next) => onChange({ replica, line: next })}
      name={`${id.name}${replica === undefined ? "" : `-${replica}`}.log`}
      picker={
        <Select
          className={css["narrow"]}
          aria-label={t("Replicas")}
          value={replica ?? ""}
          onChange={(event) => onChange({ replica: event.target.value || undefined, line: undefined })}
        >
          <option value="">{t("All replicas")}</option>
          {replica !== undefined && !replicas.some(({ name }) => name === replica) && <option value={replica}>{replica}</option>}
          {replicas.map(({ name, revision, gone }) => (
            <option key={name} value={name}>
              {t("{name}, revision {revision}", { name, revision: String(revision) })}
              {gone && t(", gone")}
            </option>
          ))}
        </Select>
      }
    />
  );
}

/** Reads a log while the component is mounted. */
function useAppLog({ org, project, domain, name }: AppId, replica: string | undefined, gone: boolean): LogStore {
  // eslint-disable-next-line react-hooks/exhaustive-deps -- a new log needs a new store
  const store = useMemo(() => new LogStore(), [project, domain, name, replica]);
  const latest = useRef(gone);
  useEffect(() => {
    latest.current = gone;
  });
  useEffect(() => {
    const control = new AbortController();
    void tail(binaryClient(AppLogsService), { app: { org, project, domain, name }, replica, gone: () => latest.current }, store, control.signal);
    return () => control.abort();
  }, [store, org, project, domain, name, replica]);
  return store;
}
