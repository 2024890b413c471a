import { useState } from "react";
import { ClusterRegistryService, type Cluster } from "@gen/flytebinary/clusters/v1/clusters_pb.js";
import { client } from "@/api/transport";
import { ChangeForm, useChange } from "@/design/change-form";
import { Field, Input } from "@/design/field";
import { Notice } from "@/design/notice";
import { t } from "@/texts/texts";
import { secondsOf, workWords } from "./words";

interface FormProps {
  readonly onCancel: () => void;
  readonly onChanged: () => void;
}

function Note({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  return (
    <Field label={t("Note")} hint={t("Optional. Why, for those who see the cluster.")}>
      {(control) => <Input {...control} autoComplete="off" maxLength={500} value={value} onChange={(event) => onChange(event.target.value)} />}
    </Field>
  );
}

/** Gives a cluster no new work. */
export function CordonForm({ name, onCancel, onChanged }: FormProps & { readonly name: string }) {
  const [note, setNote] = useState("");
  const { change, ...state } = useChange({ onChanged, onClose: onCancel });
  return (
    <ChangeForm
      label={t("Cordon")}
      {...state}
      onClose={onCancel}
      onSubmit={() => change(() => client(ClusterRegistryService).cordonCluster({ name, note }), t("Cluster {name} cordoned", { name }))}
    >
      <Note value={note} onChange={setNote} />
    </ChangeForm>
  );
}

const deadlineError = (text: string): string =>
  text.trim() === "" || secondsOf(text) !== undefined ? "" : t("A time of at most 30 days, such as 90m, 2h or 1d12h.");

/** Empties a cluster, if need be at a time. */
export function DrainForm({ name, onCancel, onChanged }: FormProps & { readonly name: string }) {
  const [note, setNote] = useState("");
  const [deadline, setDeadline] = useState("");
  const [tried, setTried] = useState(false);
  const { change, ...state } = useChange({ onChanged, onClose: onCancel });
  const seconds = secondsOf(deadline);
  return (
    <ChangeForm
      label={t("Drain")}
      {...state}
      onClose={onCancel}
      onSubmit={() => {
        setTried(true);
        if (deadlineError(deadline) !== "") return;
        const request = { name, note, ...(seconds !== undefined && { deadline: { seconds: BigInt(seconds), nanos: 0 } }) };
        change(() => client(ClusterRegistryService).drainCluster(request), t("Cluster {name} is draining", { name }));
      }}
    >
      <Field
        label={t("Time limit")}
        hint={t("Optional, such as 90m or 2h. Attempts that are still there then end as ClusterDrained and run again on other clusters, without using a retry of the task. Without a limit they run until they end.")}
        error={tried ? deadlineError(deadline) : ""}
      >
        {(control) => <Input {...control} autoComplete="off" maxLength={20} value={deadline} onChange={(event) => setDeadline(event.target.value)} />}
      </Field>
      <Note value={note} onChange={setNote} />
    </ChangeForm>
  );
}

const isEmpty = ({ work }: Cluster): boolean => !work || work.actions + work.workers + work.apps === 0;

/** Forgets a cluster. With work there, it says what happens to it, and the name has to be typed. */
export function RemoveForm({ cluster, onCancel, onChanged }: FormProps & { readonly cluster: Cluster }) {
  const { name } = cluster;
  const [typed, setTyped] = useState("");
  const [tried, setTried] = useState(false);
  const { change, ...state } = useChange({ onChanged, onClose: onCancel });
  const force = !isEmpty(cluster);
  const wrong = force && typed !== name ? t("Type {name} to confirm.", { name }) : "";
  return (
    <ChangeForm
      label={force ? t("Remove with its work") : t("Remove")}
      kind="danger"
      {...state}
      onClose={onCancel}
      onSubmit={() => {
        setTried(true);
        if (wrong !== "") return;
        change(() => client(ClusterRegistryService).removeCluster({ name, ...(force && { force }) }), t("Cluster {name} removed", { name }));
      }}
    >
      {force && (
        <>
          <Notice tone="warning" title={t("It still has {work}", { work: workWords(cluster) })}>
            <p>
              {t("Its attempts end as ClusterLost at once and run again on other clusters. A pod that the cluster cannot be told to end may still run there: what it does to systems outside of Flyte, it does twice. To wait for the work, drain the cluster instead.")}
            </p>
          </Notice>
          <Field label={t("Name of the cluster")} hint={t("Type {name} to confirm.", { name })} error={tried ? wrong : ""}>
            {(control) => (
              <Input {...control} autoComplete="off" autoCapitalize="none" maxLength={32} value={typed} onChange={(event) => setTyped(event.target.value)} />
            )}
          </Field>
        </>
      )}
    </ChangeForm>
  );
}
