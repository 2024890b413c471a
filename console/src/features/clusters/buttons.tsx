import { ClusterRegistryService, ClusterState, type Cluster } from "@gen/flytebinary/clusters/v1/clusters_pb.js";
import { Button } from "@/design/button";
import { everywhere } from "@/entities/access/rights";
import { useDenied } from "@/entities/access/use-denied";
import { t } from "@/texts/texts";
import type { ClusterChange } from "./dialogs";
import css from "@/design/page.module.css";

interface ClusterButtonsProps {
  readonly cluster: Cluster;
  readonly onChange: (change: ClusterChange) => void;
}

/** What operators do to a cluster. */
export function ClusterButtons({ cluster, onChange }: ClusterButtonsProps) {
  const { name, state } = cluster;
  const noRemove = useDenied(ClusterRegistryService.method.removeCluster, everywhere);
  const noCordon = useDenied(ClusterRegistryService.method.cordonCluster, everywhere);
  const noDrain = useDenied(ClusterRegistryService.method.drainCluster, everywhere);
  const noUpdate = useDenied(ClusterRegistryService.method.updateCluster, everywhere);
  const noUncordon = useDenied(ClusterRegistryService.method.uncordonCluster, everywhere);
  return (
    <div className={css["inline"]}>
      {state === ClusterState.READY ? (
        <Button small denied={noCordon} onClick={() => onChange({ kind: "cordon", name })} aria-label={t("Cordon {name}", { name })}>
          {t("Cordon")}
        </Button>
      ) : (
        <Button small denied={noUncordon} onClick={() => onChange({ kind: "uncordon", name })} aria-label={t("Uncordon {name}", { name })}>
          {t("Uncordon")}
        </Button>
      )}
      <Button small denied={noDrain} onClick={() => onChange({ kind: "drain", name })} aria-label={t("Drain {name}", { name })}>
        {t("Drain")}
      </Button>
      <Button small denied={noUpdate} onClick={() => onChange({ kind: "settings", cluster })} aria-label={t("Settings of {name}", { name })}>
        {t("Settings")}
      </Button>
      <Button small denied={noRemove} onClick={() => onChange({ kind: "remove", cluster })} aria-label={t("Remove {name}", { name })}>
        {t("Remove")}
      </Button>
    </div>
  );
}
