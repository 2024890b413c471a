import { criticalPath } from "@/features/run/timeline/critical-path";
import type { RunModel } from "@/entities/run/model/run-model";

/** What the actions of one task contributed to how long two runs took, in milliseconds: waiting to begin, or working. */
export interface Cause {
  readonly title: string;
  readonly kind: "waited" | "worked";
  readonly a: number;
  readonly b: number;
  /** How much more the second run spent. */
  readonly by: number;
}

/** How long two runs took, and where the difference comes from. */
export interface Reasons {
  readonly a: number;
  readonly b: number;
  /** The largest first, as far as they count. */
  readonly causes: readonly Cause[];
}

/** Less than this, and less than this share of the difference, is not a reason. */
const least = { ms: 100, share: 0.02 };

/**
 * Why a run took longer than another: the difference between their critical paths. Each path covers the whole time of its run, and each
 * part of it belongs to one action, so the differences by task add up to that of the runs.
 */
export function reasonsOf(left: RunModel, right: RunModel): Reasons {
  const [a, b] = [criticalPath(left), criticalPath(right)];
  const spent = new Map<string, { title: string; kind: Cause["kind"]; a: number; b: number }>();
  const add = (model: RunModel, side: "a" | "b", row: number, kind: Cause["kind"], ms: number) => {
    const title = model.title(row);
    const key = `${kind} ${title}`;
    const one = spent.get(key) ?? { title, kind, a: 0, b: 0 };
    one[side] += ms;
    spent.set(key, one);
  };
  for (const [model, path, side] of [[left, a, "a"], [right, b, "b"]] as const) {
    for (const share of path.shares) {
      add(model, side, share.row, "waited", share.waited);
      add(model, side, share.row, "worked", share.worked);
    }
  }
  const difference = Math.abs(b.total - a.total);
  const causes = [...spent.values()]
    .map((one) => ({ ...one, by: one.b - one.a }))
    .filter(({ by }) => Math.abs(by) >= Math.max(least.ms, difference * least.share))
    .sort((x, y) => Math.abs(y.by) - Math.abs(x.by));
  return { a: a.total, b: b.total, causes };
}
