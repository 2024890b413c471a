import { useEffect, useState } from "react";
import { chunk } from "@/api/chunk";
import { t, tn } from "@/texts/texts";
import { Button } from "./button";
import { hunksOf, type Hunk } from "./diff-lines";
import css from "./diff.module.css";

export interface DiffProps {
  /** The accessible name. */
  readonly label: string;
  readonly before: string;
  readonly after: string;
  /** The text if both are equal. */
  readonly equal?: string;
}

/** The lines in which two texts differ, with some context. */
export function Diff({ label, before, after, equal = t("No differences.") }: DiffProps) {
  const [shown, setShown] = useState<{ readonly before: string; readonly after: string; readonly hunks: readonly Hunk[] }>();
  const [whole, setWhole] = useState(false);
  useEffect(() => {
    let wanted = true;
    void chunk(() => import("diff")).then(({ diffLines }) => {
      if (wanted) setShown({ before, after, hunks: hunksOf(diffLines(before, after)) });
    });
    return () => {
      wanted = false;
    };
  }, [before, after]);
  if (before === after) return <p className={css["equal"]}>{equal}</p>;
  const lines: readonly Line[] = shown?.hunks.flatMap((hunk) => linesOf(hunk, whole)) ?? [];
  return (
    <div className={css["diff"]} data-testid="diff">
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable region must be reachable by keyboard */}
      <pre tabIndex={0} aria-label={label}>
        {lines.slice(0, maxLines).map(([kind, line], at) => (
          <span key={at} className={css[kind]}>
            {kind === "added" ? <ins>{line}</ins> : kind === "removed" ? <del>{line}</del> : line}
            {"\n"}
          </span>
        ))}
        {lines.length > maxLines && tn(lines.length - maxLines, "… {n} more line", "… {n} more lines")}
      </pre>
      {!whole && lines.some(([kind]) => kind === "gap") && (
        <Button small onClick={() => setWhole(true)}>
          {t("Show all lines")}
        </Button>
      )}
    </div>
  );
}

const maxLines = 2000;

type Line = readonly [kind: "added" | "removed" | "same" | "gap", text: string];

function linesOf({ kind, lines }: Hunk, whole: boolean): readonly Line[] {
  if (kind !== "skipped") return lines.map((line) => [kind, line] as const);
  return whole ? lines.map((line) => ["same", line] as const) : [["gap", t("… {lines} unchanged lines", { lines: lines.length })]];
}
