import { Link } from "@tanstack/react-router";
import type { Use } from "@gen/flytebinary/insight/v1/health_pb.js";
import type { Place } from "@/app/place";
import { Note } from "@/design/table";
import { percent } from "@/entities/use/use";
import { t } from "@/texts/texts";

/** What was really used of what was requested, as far as it was measured. */
export interface Shares {
  readonly cores: number | undefined;
  readonly memory: number | undefined;
  /** The share of the processor time that was measured. */
  readonly measured: number;
}

const of = (used: number, requested: number): number | undefined => (requested > 0 ? used / requested : undefined);

/** Undefined if nothing was measured. */
export function sharesOf(use: Use | undefined): Shares | undefined {
  const all = use?.measured;
  if (!all) return undefined;
  const cores = of(all.usedCoreHours, all.requestedCoreHours);
  const memory = of(all.usedGibHours, all.requestedGibHours);
  if (cores === undefined && memory === undefined) return undefined;
  return { cores, memory, measured: Math.min(1, of(all.requestedCoreHours, use.coreHours) ?? 0) };
}

/** The shares in words. */
export const sharesText = ({ cores, memory }: Shares): string =>
  [cores !== undefined && t("{share} of cores", { share: percent(cores) }), memory !== undefined && t("{share} of memory", { share: percent(memory) })].filter(Boolean).join(", ");

/** How much of the processor time the shares are about. */
export const measuredText = ({ measured }: Shares): string => t("{share} of the requested processor time was measured", { share: percent(measured) });

/** Below it a task could request less. */
const low = 0.5;

/** The shares, and for a task that could request less the way to the suggestion. */
export function Used({ use, task }: { readonly use: Use | undefined; readonly task: (Place & { readonly task: string }) | undefined }) {
  const shares = sharesOf(use);
  if (!shares) return <span title={t("Nothing of it was measured")}>–</span>;
  return (
    <>
      <span title={measuredText(shares)}>{sharesText(shares)}</span>
      {task && Math.min(shares.cores ?? 1, shares.memory ?? 1) < low && (
        <Note>
          <Link to="/domain/$domain/project/$project/tasks/$task" params={task} search={{ tab: "environment" }}>
            {t("What it could request")}
          </Link>
        </Note>
      )}
    </>
  );
}
