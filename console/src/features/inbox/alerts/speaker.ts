import { read, write } from "@/app/storage";
import { t } from "@/texts/texts";
import { fresh, isTold, most, type Alert } from "./alert";

/** How often it is looked whether there is something to tell, in milliseconds. */
export const every = 15_000;

const names = { speaker: "flyte-console:speaker", visible: "flyte-console:visible" } as const;

export interface Speaker {
  /** What there is to tell now. */
  readonly load: (signal: AbortSignal) => Promise<readonly Alert[]>;
  readonly onOpen: (alert: Alert) => void;
  /** Replaces `every` in tests. */
  readonly every?: number;
}

/**
 * Shows what is new, from one of the open tabs: the one that has the lock. The next tab gets it when this one is closed. Nothing is
 * shown while a tab is visible, since the person sees it there.
 */
export async function speak(speaker: Speaker, signal: AbortSignal): Promise<void> {
  try {
    await navigator.locks.request(names.speaker, { signal }, async () => {
      while (!signal.aborted) {
        await look(speaker, signal);
        await wait(speaker.every ?? every, signal);
      }
    });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function look({ load, onOpen }: Speaker, signal: AbortSignal): Promise<void> {
  let now: readonly Alert[];
  try {
    now = await load(signal);
  } catch {
    return; // the page says that the server does not answer; the next look may find it
  }
  if (signal.aborted) return;
  const { alerts, told } = fresh(now, read("told", isTold), Date.now());
  write("told", told); // before it is shown: rather not at all than twice
  const { held = [] } = await navigator.locks.query();
  if (held.some(({ name }) => name === names.visible)) return;
  if (alerts.length > most.told) {
    const [first] = alerts;
    if (first) show({ ...first, title: t("{n} things need you", { n: alerts.length }), body: alerts.map(({ title }) => title).slice(0, most.told).join("\n") + "\n…" }, onOpen);
    return;
  }
  for (const alert of alerts) show(alert, onOpen);
}

function show(alert: Alert, onOpen: (alert: Alert) => void): void {
  try {
    const shown = new Notification(alert.title, { body: alert.body, tag: alert.key });
    shown.onclick = () => {
      window.focus();
      onOpen(alert);
      shown.close();
    };
  } catch {
    // the permission was taken back, or the browser shows them only for a service worker
  }
}

/** Tells the other tabs that this one is visible, as long as it is. */
export function tellVisibility(signal: AbortSignal): void {
  let hide: (() => void) | undefined;
  const change = () => {
    if (document.visibilityState === "visible" && !signal.aborted) {
      if (hide) return;
      const until = new Promise<void>((resolve) => (hide = resolve));
      void navigator.locks.request(names.visible, { mode: "shared" }, () => until);
    } else {
      hide?.();
      hide = undefined;
    }
  };
  change();
  document.addEventListener("visibilitychange", change, { signal });
  signal.addEventListener("abort", change);
}

const wait = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
