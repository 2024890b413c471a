import { useNavigate } from "@tanstack/react-router";
import { useEffect, useEffectEvent } from "react";
import { useMe } from "@/entities/access/use-me";
import type { Alert } from "./alert";
import { loadAlerts } from "./load";
import { useAlertSetting } from "./setting";
import { speak, tellVisibility } from "./speaker";

/** Shows notifications of the browser while no tab of the console is visible, if the person wants them. Draws nothing. */
export function AlertWatch() {
  const on = useAlertSetting() === "on";
  const me = useMe();
  const navigate = useNavigate();
  const load = useEffectEvent((signal: AbortSignal) => (me ? loadAlerts(me, signal) : Promise.reject(new Error("not known who the reader is"))));
  const open = useEffectEvent(({ run: { project, domain, name }, action }: Alert) =>
    navigate({ to: "/domain/$domain/project/$project/runs/$run", params: { project, domain, run: name }, search: action === undefined ? {} : { action } }),
  );
  useEffect(() => {
    if (!on) return undefined;
    const stop = new AbortController();
    tellVisibility(stop.signal);
    void speak({ load: (signal) => load(signal), onOpen: (alert) => void open(alert) }, stop.signal);
    return () => stop.abort();
  }, [on]);
  return null;
}
