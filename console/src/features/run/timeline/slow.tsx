import { useMemo } from "react";
import { count, duration, plural } from "@/design/format";
import { Phase } from "@/design/phase";
import { nameOf } from "@/entities/action/identity";
import { useWanted } from "@/entities/action/use-wanted";
import type { RunModel } from "@/entities/run/model/run-model";
import type { CriticalPath, Share } from "./critical-path";
import css from "./timeline.module.css";

export interface SlowProps {
  readonly model: RunModel;
  readonly path: CriticalPath;
  readonly live: boolean;
  readonly selected: number;
  readonly onSelect: (row: number) => void;
}

/** The number of listed actions. */
const maxListed = 50;

/** The actions of the critical path, largest share first. */
export function WhySlow({ model, path, live, selected, onSelect }: SlowProps) {
  const { listed, others } = useMemo(() => largest(path.shares), [path]);
  useWanted(
    model,
    "slow",
    listed.map((share) => share.row),
  );
  const longest = listed[0];
  const waited = path.shares.reduce((sum, share) => sum + share.waited, 0);
  return (
    <section className={css["slow"]} aria-label="Why slow" data-testid="critical-path">
      <p>
        {live ? "So far" : "The run took"} <strong>{duration(path.total)}</strong>. Critical path: {plural(path.shares.length, "action")} of {count(model.size)}
        {longest && (
          <>
            . Longest: <strong>{nameOf(model, longest.row)}</strong>, {duration(longest.waited + longest.worked)} ({percent(longest.share)})
          </>
        )}
        .{" "}
        {waited > 0 && (
          <>
            Waiting before start: {duration(waited)} ({percent(waited / Math.max(1, path.total))}).
          </>
        )}
      </p>
      <ol>
        {listed.map((share) => (
          <li key={share.row}>
            <button type="button" className={css["share"]} aria-current={share.row === selected || undefined} onClick={() => onSelect(share.row)}>
              <Phase phase={model.phase(share.row)} compact />
              <span className={css["share-title"]} title={nameOf(model, share.row)}>
                {nameOf(model, share.row)}
              </span>
              <span className={css["share-bar"]} aria-hidden>
                <span data-part="waited" style={{ width: percent(share.waited / Math.max(1, path.total), 2) }} />
                <span data-part="worked" style={{ width: percent(share.worked / Math.max(1, path.total), 2) }} />
              </span>
              <span className={css["share-words"]}>{wordsOf(share)}</span>
              <span className={css["share-percent"]}>{percent(share.share)}</span>
            </button>
          </li>
        ))}
      </ol>
      {others.length > 0 && (
        <p>
          {plural(others.length, "more action")}: {percent(others.reduce((sum, share) => sum + share.share, 0))} in total.
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

const wordsOf = ({ waited, worked }: Share): string =>
  [worked > 0 && `ran ${duration(worked)}`, waited > 0 && `waited ${duration(waited)}`].filter((part) => part !== false).join(", ");

const percent = (share: number, digits = share > 0 && share < 0.01 ? 1 : 0): string => `${(share * 100).toFixed(digits)}%`;
