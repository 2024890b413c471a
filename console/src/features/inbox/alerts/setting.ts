import { useSyncExternalStore } from "react";
import { read, write } from "@/app/storage";

/** Whether this browser shows notifications: it cannot, the person has forbidden it, or the person wants them or not. */
export type AlertSetting = "unsupported" | "blocked" | "on" | "off";

const changed = "flyte-console:alerts-changed";
const isTrue = (value: unknown): value is true => value === true;

const supported = (): boolean => "Notification" in window && "locks" in navigator;

export function alertSetting(): AlertSetting {
  if (!supported()) return "unsupported";
  if (Notification.permission === "denied") return "blocked";
  return read("alerts", isTrue) && Notification.permission === "granted" ? "on" : "off";
}

/** Turns them on, for which the browser asks the person, or off. */
export async function setAlerts(on: boolean): Promise<void> {
  if (on && (await Notification.requestPermission()) !== "granted") on = false;
  write("alerts", on ? true : undefined);
  window.dispatchEvent(new Event(changed));
}

function subscribe(listener: () => void): () => void {
  const events = [changed, "storage", "focus"]; // another tab changed it, or the person changed it in the browser
  for (const event of events) window.addEventListener(event, listener);
  return () => {
    for (const event of events) window.removeEventListener(event, listener);
  };
}

export const useAlertSetting = (): AlertSetting => useSyncExternalStore(subscribe, alertSetting);
