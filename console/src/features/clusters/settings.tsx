import { useState } from "react";
import { ClusterRegistryService, type Cluster } from "@gen/flytebinary/clusters/v1/clusters_pb.js";
import { client } from "@/api/transport";
import { ChangeForm, useChange } from "@/design/change-form";
import { Field, Input, TextArea } from "@/design/field";
import { t } from "@/texts/texts";
import { labelsOf, labelText, namesOf, weightOf } from "./settings-text";

interface SettingsFormProps {
  readonly cluster: Cluster;
  readonly onCancel: () => void;
  readonly onChanged: () => void;
}

/** Changes the labels, the weight and the pools of a cluster. It sends only what was changed, so that what others set meanwhile stays. */
export function SettingsForm({ cluster: { name, givenLabels, weight, pools }, onCancel, onChanged }: SettingsFormProps) {
  const [before] = useState({ labels: labelText(givenLabels), weight: String(weight), pools: pools.join(", ") });
  const [now, setNow] = useState(before);
  const [tried, setTried] = useState(false);
  const { change, ...state } = useChange({ onChanged, onClose: onCancel });
  const labels = labelsOf(now.labels);
  const share = weightOf(now.weight);
  const wrong = {
    labels: labels === undefined ? t("Write each as key=value, on a line of its own, and each key once.") : "",
    weight: share === undefined ? t("A whole number from 0 to 1000.") : "",
  };
  return (
    <ChangeForm
      label={t("Save")}
      {...state}
      onClose={onCancel}
      onSubmit={() => {
        setTried(true);
        if (labels === undefined || share === undefined) return;
        const request = {
          name,
          ...(now.labels !== before.labels && { labels: { values: labels } }),
          ...(now.weight !== before.weight && { weight: share }),
          ...(now.pools !== before.pools && { pools: { names: namesOf(now.pools) } }),
        };
        change(() => client(ClusterRegistryService).updateCluster(request), t("Settings of {name} saved", { name }));
      }}
    >
      <Field label={t("Labels")} hint={t("key=value, one per line. They win over those that the controller reports.")} error={tried ? wrong.labels : ""}>
        {(control) => <TextArea {...control} rows={3} value={now.labels} onChange={(event) => setNow({ ...now, labels: event.target.value })} />}
      </Field>
      <Field label={t("Weight")} hint={t("Its share of new work, from 0 to 1000. With 0, it gets only work that names it or one of its pools.")} error={tried ? wrong.weight : ""}>
        {(control) => (
          <Input {...control} inputMode="numeric" autoComplete="off" maxLength={4} value={now.weight} onChange={(event) => setNow({ ...now, weight: event.target.value })} />
        )}
      </Field>
      <Field label={t("Cluster pools")} hint={t("Names with commas. Runs and placement rules choose clusters by them.")}>
        {(control) => (
          <Input {...control} autoComplete="off" autoCapitalize="none" value={now.pools} onChange={(event) => setNow({ ...now, pools: event.target.value })} />
        )}
      </Field>
    </ChangeForm>
  );
}
