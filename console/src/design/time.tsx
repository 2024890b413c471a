import { useEffect, useState } from "react";
import { usePreferences } from "@/app/preferences";
import { ago, duration, exactly, moment } from "./format";

/** The current time, updated at an interval in milliseconds while it is enabled. */
export function useNow(every: number, enabled = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!enabled) return;
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every, enabled]);
  return now;
}

/** A moment in the reader's time zone. */
export function When({ at, relative = false }: { readonly at: Date | undefined; readonly relative?: boolean }) {
  const { zone } = usePreferences();
  const now = useNow(relative ? 10_000 : 60_000);
  if (!at) return <span>–</span>;
  return (
    <time className="whole" dateTime={at.toISOString()} title={exactly(at, zone)}>
      {relative ? ago(now - at.getTime()) : moment(at, zone, new Date(now))}
    </time>
  );
}

/** A duration; it grows while there is no end. */
export function Span({ from, to }: { readonly from: Date | undefined; readonly to: Date | undefined }) {
  const now = useNow(1000, from !== undefined && to === undefined);
  if (!from) return <span>–</span>;
  return <span className="whole">{duration(Math.max(0, (to?.getTime() ?? now) - from.getTime()))}</span>;
}
