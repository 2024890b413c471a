import { useState } from "react";
import { ClusterRegistryService, type Cluster, type Credential } from "@gen/flytebinary/clusters/v1/clusters_pb.js";
import { client } from "@/api/transport";
import { Button } from "@/design/button";
import { ChangeForm, useChange, type ChangeProps } from "@/design/change-form";
import { CopyField } from "@/design/copy-field";
import { Dialog, DialogActions } from "@/design/dialog";
import { Field, Input } from "@/design/field";
import { Notice } from "@/design/notice";
import { t } from "@/texts/texts";
import { CordonForm, DrainForm, RemoveForm } from "./forms";
import { Launch } from "./launch";
import { SettingsForm } from "./settings";
import css from "@/design/page.module.css";

/** What is done to the clusters. */
export type ClusterChange =
  | { readonly kind: "add" }
  | { readonly kind: "issue" | "cordon" | "uncordon" | "drain"; readonly name: string }
  | { readonly kind: "remove" | "settings"; readonly cluster: Cluster }
  | { readonly kind: "revoke"; readonly credential: Credential };

interface Issued {
  readonly name: string;
  readonly secret: string;
  /** The id of the installation, for a new cluster. */
  readonly installation?: string;
}

const title = (change: ClusterChange): readonly [title: string, description: string] => {
  switch (change.kind) {
    case "add":
      return [t("Add cluster"), t("Its controller connects to this server with a credential of its own, and sees nothing of other clusters.")];
    case "issue":
      return [t("Issue a credential for {name}", { name: change.name }), t("The others stay valid. Revoke the old one once the controller uses the new one.")];
    case "remove":
      return [t("Remove {name}", { name: change.cluster.name }), t("All its credentials end at once, and it is forgotten.")];
    case "settings":
      return [t("Settings of {name}", { name: change.cluster.name }), t("They count when work is placed. What runs already stays where it is.")];
    case "cordon":
      return [t("Cordon {name}", { name: change.name }), t("It gets no new work. What runs there continues.")];
    case "uncordon":
      return [t("Uncordon {name}", { name: change.name }), t("It gets new work again.")];
    case "drain":
      return [t("Drain {name}", { name: change.name }), t("It gets no new work, and what runs there may end.")];
    case "revoke":
      return [t("Revoke {id}", { id: change.credential.id }), t("A controller that uses it is refused at once. This cannot be undone.")];
  }
};

/** The dialog for a change of the clusters; none if it is undefined. A new secret is shown once. */
export function ClusterDialogs({ change, onClose, onChanged }: ChangeProps & { readonly change: ClusterChange | undefined }) {
  const [issued, setIssued] = useState<Issued>();
  const close = () => {
    setIssued(undefined);
    onClose();
  };
  const [heading, description] = issued
    ? [t("Credential of {name}", { name: issued.name }), t("Copy the secret now. You won’t be able to view it later.")]
    : change
      ? title(change)
      : ["", ""];
  return (
    // The secret goes only by the button.
    <Dialog open={change !== undefined} onClose={issued ? () => undefined : close} wide={issued !== undefined} title={heading} description={description}>
      {issued && <Secret {...issued} onClose={close} />}
      {!issued && change && <Form change={change} onCancel={close} onChanged={onChanged} onIssued={setIssued} />}
    </Dialog>
  );
}

interface FormProps {
  readonly change: ClusterChange;
  readonly onCancel: () => void;
  readonly onChanged: () => void;
  readonly onIssued: (issued: Issued) => void;
}

function Form({ change, onCancel, onChanged, onIssued }: FormProps) {
  const registry = client(ClusterRegistryService);
  const props = { onCancel, onChanged };
  switch (change.kind) {
    case "add":
      return <AddForm {...props} onIssued={onIssued} />;
    case "issue": {
      const { name } = change;
      const issue = () => registry.issueCredential({ cluster: name }).then(({ secret }) => onIssued({ name, secret }));
      return <Confirm label={t("Issue")} {...props} stays send={issue} done={t("Credential of {name} issued", { name })} />;
    }
    case "remove":
      return <RemoveForm {...props} cluster={change.cluster} />;
    case "settings":
      return <SettingsForm {...props} cluster={change.cluster} />;
    case "cordon":
      return <CordonForm {...props} name={change.name} />;
    case "uncordon": {
      const { name } = change;
      return <Confirm label={t("Uncordon")} {...props} send={() => registry.uncordonCluster({ name })} done={t("Cluster {name} uncordoned", { name })} />;
    }
    case "drain":
      return <DrainForm {...props} name={change.name} />;
    case "revoke": {
      const { id } = change.credential;
      return <Confirm label={t("Revoke")} danger {...props} send={() => registry.revokeCredential({ id })} done={t("Credential {id} revoked", { id })} />;
    }
  }
}

interface ConfirmProps {
  readonly label: string;
  readonly danger?: true;
  /** The dialog stays open and shows the result. */
  readonly stays?: true;
  readonly onCancel: () => void;
  readonly onChanged: () => void;
  readonly send: () => Promise<unknown>;
  readonly done: string;
}

function Confirm({ label, danger, stays, onCancel, onChanged, send, done }: ConfirmProps) {
  const { change, ...state } = useChange({ onChanged, onClose: stays ? () => undefined : onCancel });
  return (
    <ChangeForm label={label} kind={danger ? "danger" : "primary"} {...state} onClose={onCancel} onSubmit={() => change(send, done)}>
      {null}
    </ChangeForm>
  );
}

const nameError = (name: string): string =>
  /^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$/.test(name) ? "" : t("1 to 32 lower-case letters, digits and dashes, such as east.");

function AddForm({ onCancel, onChanged, onIssued }: Omit<FormProps, "change">) {
  const [name, setName] = useState("");
  const [tried, setTried] = useState(false);
  const { change, ...state } = useChange({ onChanged, onClose: () => undefined });
  return (
    <ChangeForm
      label={t("Add")}
      {...state}
      onClose={onCancel}
      onSubmit={() => {
        setTried(true);
        if (nameError(name) !== "") return;
        const add = () =>
          client(ClusterRegistryService)
            .addCluster({ name })
            .then(({ secret, installation }) => onIssued({ name, secret, installation }));
        change(add, t("Cluster {name} added", { name }));
      }}
    >
      <Field label={t("Name")} hint={t("The cluster.id of its controller, and what queues call it.")} error={tried ? nameError(name) : ""}>
        {(control) => <Input {...control} autoComplete="off" autoCapitalize="none" maxLength={32} value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
    </ChangeForm>
  );
}

function Secret({ name, secret, installation, onClose }: Issued & { readonly onClose: () => void }) {
  return (
    <div className={css["section"]}>
      <CopyField label={t("Secret")} hint={t("For controlPlane.credentialFile of its controller, or the Secret that the chart names in controlPlane.credentialSecret.")} value={secret} />
      <Notice tone="warning">{t("Anyone with this secret can act as the controller of {name}. Keep it in a secret store.", { name })}</Notice>
      {installation !== undefined && <Launch name={name} installation={installation} />}
      <DialogActions>
        <Button kind="primary" onClick={onClose}>
          {t("Done")}
        </Button>
      </DialogActions>
    </div>
  );
}
