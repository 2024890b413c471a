import type { Cluster } from "@gen/flytebinary/clusters/v1/clusters_pb.js";
import { t } from "@/texts/texts";
import { amount, capacityOf, resourceName, type Capacity } from "./words";
import css from "./clusters.module.css";

interface BarsProps {
  readonly cluster: Cluster;
  /** Leaves out disks and the largest node. */
  readonly brief?: true;
}

/** What the nodes of a cluster have of each resource, what pods ask for of it, and what is free. */
export function Bars({ cluster, brief }: BarsProps) {
  const capacity = capacityOf(cluster).filter(({ resource }) => !brief || resource !== "ephemeral-storage");
  if (capacity.length === 0) return <span>{t("Unknown")}</span>;
  return (
    <div className={brief ? css["bars"] : css["capacity"]}>
      {capacity.map((one) => (
        <Bar key={one.resource} of={one} brief={brief} />
      ))}
    </div>
  );
}

function Bar({ of: { resource, total, taken, free, largest }, brief }: { readonly of: Capacity; readonly brief: true | undefined }) {
  const share = Math.min(100, (Number(taken) / Number(total)) * 100);
  return (
    <div className={css["bar"]} data-resource={resource}>
      <span className={css["line"]}>
        <span>{resourceName(resource)}</span>
        <span>
          {t("{asked} of {total} asked", { asked: amount(resource, taken), total: amount(resource, total) })}
        </span>
      </span>
      <span className={css["gauge"]} data-full={share >= 90 || undefined} aria-hidden>
        <span style={{ width: `${share}%` }} />
      </span>
      <span className={css["line"]}>
        <span>{t("{amount} free", { amount: amount(resource, free) })}</span>
        {!brief && largest !== undefined && <span>{t("largest node {amount}", { amount: amount(resource, largest) })}</span>}
      </span>
    </div>
  );
}
