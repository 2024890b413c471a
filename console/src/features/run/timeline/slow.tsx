import { useEffect, useMemo } from "react";
import { count, duration } from "@/design/format";
import { Phase } from "@/design/phase";
import { nameOf } from "@/entities/action/identity";
import { useWanted } from "@/entities/action/use-wanted";
import { fixed, t, tn } from "@/texts/texts";
import type { Timeline } from "./controller";
import type { CriticalPath, Share } from "./critical-path";
import type { Spent } from "./spent";
import css from "./timeline.module.css";

export interface SlowProps {
  readonly timeline: Timeline;
  readonly path: CriticalPath;
  readonly live: boolean;
  readonly selected: number;
  readonly onSelect: (row: number) => void;
}

/** The number of listed actions. */
const maxListed = 50;

/** The actions of the critical path, largest share first. */
export function WhySlow({ timeline, path, live, selected, onSelect }: SlowProps) {
  const { model } = timeline;
  const { listed, others } = useMemo(() => largest(path.shares), [path]);
  useWanted(
    model,
    "slow",
    listed.map((share) => share.row),
  );
  useEffect(() => {
    timeline.explain(listed.map((share) => share.row));
    return () => timeline.explain([]);
  }, [timeline, listed]);
  const spent = listed.map((share) => timeline.spent(share.row));
  const between = spent.reduce((sum, one) => sum + one.between, 0);
  const longest = listed[0];
  const waited = path.shares.reduce((sum, share) => sum + share.waited, 0);
  return (
    <section className={css["slow"]} aria-label={t("Why slow")} data-testid="critical-path">
      <p>
        {tn(path.shares.length, "{lead} {duration}. Critical path: {n} action of {total}", "{lead} {duration}. Critical path: {n} actions of {total}", { lead: live ? t("So far") : t("The run took"), duration: <strong>{duration(path.total)}</strong>, total: count(model.size) })}
        {longest && (
          <>
            {t(". Longest: {action}, {time} ({share})", { action: <strong>{nameOf(model, longest.row)}</strong>, time: duration(longest.waited + longest.worked), share: percent(longest.share) })}
          </>
        )}
        .{" "}
        {waited > 0 && (
          <>
            {t("Waiting before start: {waited} ({share}).", { waited: duration(waited), share: percent(waited / Math.max(1, path.total)) })}{" "}
          </>
        )}
        {between > 0 && (
          <>
            {t("Between attempts: {time} ({share}).", { time: duration(between), share: percent(between / Math.max(1, path.total)) })}
          </>
        )}
      </p>
      <ol>
        {listed.map((share, at) => (
          <li key={share.row}>
            <button type="button" className={css["share"]} aria-current={share.row === selected || undefined} onClick={() => onSelect(share.row)}>
              <Phase phase={model.phase(share.row)} compact />
              <span className={css["share-title"]} title={nameOf(model, share.row)}>
                {nameOf(model, share.row)}
              </span>
              <span className={css["share-bar"]} aria-hidden>
                {parts.map((part) => (
                  <span key={part} data-part={part} style={{ width: `${(100 * (spent[at]?.[part] ?? 0)) / Math.max(1, path.total)}%` }} />
                ))}
              </span>
              <span className={css["share-words"]}>{wordsOf(spent[at])}</span>
              <span className={css["share-percent"]}>{percent(share.share)}</span>
            </button>
          </li>
        ))}
      </ol>
      {others.length > 0 && (
        <p>
          {tn(others.length, "{n} more action: {share} in total.", "{n} more actions: {share} in total.", { share: percent(others.reduce((sum, share) => sum + share.share, 0)) })}
        </p>
      )}
    </section>
  );
}

/** The largest shares, and the remaining ones. */
function largest(shares: readonly Share[]): { readonly listed: readonly Share[]; readonly others: readonly Share[] } {
  const sorted = [...shares].sort((a, b) => b.share - a.share);
  return { listed: sorted.slice(0, maxListed), others: sorted.slice(maxListed) };
}

const parts = ["waited", "ran", "paused", "between"] as const;

const wordsOf = ({ waited, ran, paused, between }: Spent = { waited: 0, ran: 0, paused: 0, between: 0 }): string =>
  [
    ran > 0 && t("ran {ran}", { ran: duration(ran) }),
    paused > 0 && t("paused {paused}", { paused: duration(paused) }),
    between > 0 && t("between attempts {between}", { between: duration(between) }),
    waited > 0 && t("waited {waited}", { waited: duration(waited) }),
  ]
    .filter((part) => part !== false)
    .join(", ");

const percent = (share: number): string => `${fixed(share * 100, share > 0 && share < 0.01 ? 1 : 0)} %`;
