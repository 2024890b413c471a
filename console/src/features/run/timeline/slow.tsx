import { useMemo } from "react";
import { count, duration, plural } from "@/design/format";
import { Phase } from "@/design/phase";
import type { RunModel } from "@/features/run/model/run-model";
import type { CriticalPath, Share } from "./critical-path";
import css from "./timeline.module.css";

export interface SlowProps {
  readonly model: RunModel;
  readonly path: CriticalPath;
  readonly live: boolean;
  readonly selected: number;
  readonly onSelect: (row: number) => void;
}

/** So many are listed. */
const most = 50;

/** Why the run took as long as it did: the actions that it waited for one after the other, the largest shares first. */
export function WhySlow({ model, path, live, selected, onSelect }: SlowProps) {
  const { listed, rest } = useMemo(() => largest(path.shares), [path]);
  const longest = listed[0];
  const waited = path.shares.reduce((sum, share) => sum + share.waited, 0);
  return (
    <section className={css["slow"]} aria-label="Why slow" data-testid="critical-path">
      <p>
        {live ? "So far" : "The run took"} <strong>{duration(path.total)}</strong>. Critical path: {plural(path.shares.length, "action")} out of {count(model.size)} determined that
        {longest && (
          <>
            , the longest is <strong>{model.title(longest.row)}</strong> with {duration(longest.waited + longest.worked)} ({percent(longest.share)})
          </>
        )}
        .{" "}
        {waited > 0 && (
          <>
            {duration(waited)} ({percent(waited / Math.max(1, path.total))}) went by before they began to run.
          </>
        )}
      </p>
      <ol>
        {listed.map((share) => (
          <li key={share.row}>
            <button type="button" className={css["share"]} aria-current={share.row === selected || undefined} onClick={() => onSelect(share.row)}>
              <Phase phase={model.phase(share.row)} compact />
              <span className={css["share-title"]}>{model.title(share.row)}</span>
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
      {rest.length > 0 && (
        <p>
          {plural(rest.length, "action")} with smaller shares: together {percent(rest.reduce((sum, share) => sum + share.share, 0))}.
        </p>
      )}
    </section>
  );
}

/** The largest shares, and the others. */
function largest(shares: readonly Share[]): { readonly listed: readonly Share[]; readonly rest: readonly Share[] } {
  const sorted = [...shares].sort((a, b) => b.share - a.share);
  return { listed: sorted.slice(0, most), rest: sorted.slice(most) };
}

const wordsOf = ({ waited, worked }: Share): string =>
  [worked > 0 && `ran ${duration(worked)}`, waited > 0 && `waited ${duration(waited)}`].filter((part) => part !== false).join(", ");

const percent = (share: number, digits = share > 0 && share < 0.01 ? 1 : 0): string => `${(share * 100).toFixed(digits)}%`;
