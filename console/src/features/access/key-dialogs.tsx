import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { useState } from "react";
import { KeyService, type CreateKeyResponse, type Key } from "@gen/flytebinary/access/v1/access_pb.js";
import { client } from "@/api/transport";
import { useHere } from "@/app/places";
import { Button } from "@/design/button";
import { ChangeForm, useChange, type ChangeProps } from "@/design/change-form";
import { CopyField } from "@/design/copy-field";
import { Dialog, DialogActions } from "@/design/dialog";
import { Field, Input, Select } from "@/design/field";
import { Notice } from "@/design/notice";
import { can, everywhere, whereOf, type Where } from "@/entities/access/rights";
import { useMe } from "@/entities/access/use-me";
import { t } from "@/texts/texts";
import { placesOf, RoleFields, type RoleInPlace } from "./role-fields";
import { lifetimes } from "./words";
import css from "@/design/page.module.css";

const day = 86_400_000;

/** Makes a key, and shows its secret once. */
export function CreateKeyDialog({ open, onClose, onChanged }: ChangeProps & { readonly open: boolean }) {
  const [made, setMade] = useState<CreateKeyResponse>();
  const close = () => {
    setMade(undefined);
    onClose();
  };
  return (
    <Dialog
      open={open}
      // The secret cannot be read again: it goes only by the button.
      onClose={made ? () => undefined : close}
      wide={made !== undefined}
      title={made ? t("Key {name} created", { name: made.key?.name ?? "" }) : t("Create API key")}
      description={made ? t("Copy the secret now. You won’t be able to view it later.") : t("A key can do what its roles allow, and never more than you can at that time.")}
    >
      {made ? <Secret made={made} onClose={close} /> : <CreateForm onClose={() => undefined} onCancel={close} onChanged={onChanged} onMade={setMade} />}
    </Dialog>
  );
}

interface CreateFormProps extends ChangeProps {
  readonly onCancel: () => void;
  readonly onMade: (made: CreateKeyResponse) => void;
}

/** Where the reader has roles, and the current project. */
function usePlaces(): readonly Where[] {
  const here = useHere();
  const me = useMe();
  const all = [...(here ? placesOf(here) : [everywhere]), ...(me?.grants.map(({ scope }) => whereOf(scope)) ?? [])];
  return all.filter((place, at) => all.findIndex(({ project, domain }) => project === place.project && domain === place.domain) === at);
}

function CreateForm({ onCancel, onMade, ...props }: CreateFormProps) {
  const places = usePlaces();
  const [name, setName] = useState("");
  const [days, setDays] = useState(90);
  const [chosen, setChosen] = useState<RoleInPlace>({ role: "viewer", place: places[0] ?? everywhere });
  const [service, setService] = useState(false);
  const [tried, setTried] = useState(false);
  const me = useMe();
  const givesRoles = me !== undefined && can(me, "binding.create", chosen.place);
  const { change, ...state } = useChange(props);
  return (
    <ChangeForm
      label={t("Create")}
      {...state}
      onClose={onCancel}
      onSubmit={() => {
        setTried(true);
        if (name.trim() === "") return;
        const request = {
          name: name.trim(),
          roles: [{ role: chosen.role, scope: chosen.place }],
          ...(days > 0 && { lifetime: durationFromMs(days * day) }),
          service: service && givesRoles,
        };
        change(() => client(KeyService).createKey(request).then(onMade), t("Key {name} created", { name: request.name }));
      }}
    >
      <Field label={t("Name")} hint={t("What it is for, such as nightly CI.")} error={tried && name.trim() === "" ? t("A name is required.") : ""}>
        {(control) => <Input {...control} autoComplete="off" maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <RoleFields {...chosen} places={places} onChange={setChosen} />
      <Field label={t("Valid for")}>
        {(control) => (
          <Select {...control} value={days} onChange={(event) => setDays(Number(event.target.value))}>
            {lifetimes.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {givesRoles && (
        <label>
          <input type="checkbox" checked={service} onChange={(event) => setService(event.target.checked)} /> {t("For a service: the key keeps its role when you lose yours")}
        </label>
      )}
    </ChangeForm>
  );
}

function Secret({ made, onClose }: { readonly made: CreateKeyResponse; readonly onClose: () => void }) {
  return (
    <div className={css["section"]}>
      <CopyField label={t("Secret")} hint={t("Sent as a bearer token, or as the client secret.")} value={made.secret} />
      <CopyField label={t("Client ID")} hint={t("For clients that sign in with a client secret.")} value={made.key?.id ?? ""} />
      {made.flyteApiKey === "" ? (
        <p className={css["muted"]}>{t("There is no FLYTE_API_KEY: with it, clients would use port 443, and this server is at another one.")}</p>
      ) : (
        <CopyField label={t("FLYTE_API_KEY")} hint={t("The value of this variable for the Flyte SDK and command line.")} value={made.flyteApiKey} />
      )}
      <Notice tone="warning">{t("Anyone with this secret can do what the key can. Keep it in a secret store.")}</Notice>
      <DialogActions>
        <Button kind="primary" onClick={onClose}>
          {t("Done")}
        </Button>
      </DialogActions>
    </div>
  );
}

/** Ends a key at once. */
export function RevokeDialog({ apiKey, ...props }: ChangeProps & { readonly apiKey: Key | undefined }) {
  return (
    <Dialog open={apiKey !== undefined} onClose={props.onClose} title={t("Revoke {name}", { name: apiKey?.name ?? "" })} description={t("Programs that use it are refused at once. This cannot be undone.")}>
      {apiKey && <RevokeForm apiKey={apiKey} {...props} />}
    </Dialog>
  );
}

function RevokeForm({ apiKey: { id, name }, ...props }: ChangeProps & { readonly apiKey: Key }) {
  const { change, ...state } = useChange(props);
  return (
    <ChangeForm
      label={t("Revoke")}
      kind="danger"
      {...state}
      onClose={props.onClose}
      onSubmit={() => change(() => client(KeyService).revokeKey({ id }), t("Key {name} revoked", { name }))}
    >
      {null}
    </ChangeForm>
  );
}
