import { useState } from "react";
import { SecretService } from "@gen/flyteidl2/secret/secret_pb.js";
import { SecretType, type Secret } from "@gen/flyteidl2/secret/definition_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { ChangeForm as Form, useChange } from "@/design/change-form";
import { Dialog } from "@/design/dialog";
import { Field, Input, Select, TextArea } from "@/design/field";
import { t } from "@/texts/texts";
import { scopes, type Scope } from "./search";
import { dockerConfig, placeOf, scopeWords, variableOf, wrongName } from "./secret";

/** What the secrets page asks in a dialog. */
export type Asked = { readonly what: "create" } | { readonly what: "update" | "delete"; readonly secret: Secret };

interface Props {
  readonly place: Place;
  readonly scope: Scope;
  readonly onClose: () => void;
  /** The list has to be read again. */
  readonly onChanged: () => void;
}

/** The open dialog of the secrets page, if there is one. */
export function SecretDialog({ asked, ...props }: Props & { readonly asked: Asked | undefined }) {
  const name = asked && "secret" in asked ? (asked.secret.id?.name ?? "") : "";
  const titles = { create: t("Create secret"), update: t("Replace the value of {name}", { name }), delete: t("Delete {name}", { name }) };
  return (
    <Dialog
      open={asked !== undefined}
      onClose={props.onClose}
      title={asked ? titles[asked.what] : ""}
      {...(asked?.what === "update" && { description: t("Takes effect for new attempts.") })}
    >
      {asked?.what === "create" && <CreateForm {...props} />}
      {asked?.what === "update" && <UpdateForm secret={asked.secret} {...props} />}
      {asked?.what === "delete" && <DeleteForm secret={asked.secret} {...props} />}
    </Dialog>
  );
}

/** The fields of a value: a text, or the credentials of a registry. It reports the value, empty while it is incomplete. */
function ValueFields({ type, onValue, error }: { readonly type: SecretType; readonly onValue: (value: string) => void; readonly error: string }) {
  const [login, setLogin] = useState({ registry: "", user: "", password: "" });
  if (type !== SecretType.IMAGE_PULL_SECRET) {
    return (
      <Field label={t("Value")} hint={t("You won’t be able to view it later.")} error={error}>
        {(control) => <TextArea {...control} rows={4} autoComplete="off" onChange={(event) => onValue(event.target.value)} />}
      </Field>
    );
  }
  const change = (part: Partial<typeof login>): void => {
    const next = { ...login, ...part };
    setLogin(next);
    onValue(Object.values(next).every(Boolean) ? dockerConfig(next.registry, next.user, next.password) : "");
  };
  return (
    <>
      <Field label={t("Registry")} hint={t("Such as ghcr.io")} error={error}>
        {(control) => <Input {...control} autoComplete="off" onChange={(event) => change({ registry: event.target.value.trim() })} />}
      </Field>
      <Field label={t("User")}>
        {(control) => <Input {...control} autoComplete="off" onChange={(event) => change({ user: event.target.value })} />}
      </Field>
      <Field label={t("Password")} hint={t("You won’t be able to view it later.")}>
        {(control) => <Input {...control} type="password" autoComplete="new-password" onChange={(event) => change({ password: event.target.value })} />}
      </Field>
    </>
  );
}

const specOf = (type: SecretType, value: string) => ({ type, value: { case: "binaryValue" as const, value: new TextEncoder().encode(value) } });

function CreateForm(props: Props) {
  const [name, setName] = useState("");
  const [scope, setScope] = useState(props.scope);
  const [type, setType] = useState(SecretType.GENERIC);
  const [value, setValue] = useState("");
  const [tried, setTried] = useState(false);
  const { change, ...state } = useChange(props);
  const wrong = wrongName(name);
  return (
    <Form
      label={t("Create")}
      {...state}
      onClose={props.onClose}
      onSubmit={() => {
        setTried(true);
        if (wrong !== "" || value === "") return;
        const id = { name, ...placeOf(scope, props.place) };
        change(() => client(SecretService).createSecret({ id, secretSpec: specOf(type, value) }), t("Secret {name} created", { name }));
      }}
    >
      <Field label={t("Name")} hint={wrong === "" ? t("Available to tasks as ${variable} by default.", { variable: variableOf(name) }) : t("Letters, digits, dashes and underscores")} error={tried ? wrong : ""}>
        {(control) => <Input {...control} autoComplete="off" value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <Field label={t("Scope")} hint={t("If a name exists in several scopes, the most specific one wins.")}>
        {(control) => (
          <Select {...control} value={scope} onChange={(event) => setScope(scopes.find((known) => known === event.target.value) ?? "project")}>
            {scopes.map((one) => (
              <option key={one} value={one}>
                {scopeWords(placeOf(one, props.place))}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t("Type")}>
        {(control) => (
          <Select
            {...control}
            value={type}
            onChange={(event) => {
              setType(Number(event.target.value));
              setValue("");
            }}
          >
            <option value={SecretType.GENERIC}>{t("Generic")}</option>
            <option value={SecretType.IMAGE_PULL_SECRET}>{t("Image pull secret")}</option>
          </Select>
        )}
      </Field>
      <ValueFields key={type} type={type} onValue={setValue} error={tried && value === "" ? t("A value is required.") : ""} />
    </Form>
  );
}

function UpdateForm({ secret: { id, secretMetadata }, ...props }: Props & { readonly secret: Secret }) {
  const type = secretMetadata?.type ?? SecretType.GENERIC;
  const [value, setValue] = useState("");
  const [tried, setTried] = useState(false);
  const { change, ...state } = useChange(props);
  return (
    <Form
      label={t("Replace")}
      {...state}
      onClose={props.onClose}
      onSubmit={() => {
        setTried(true);
        if (!id || value === "") return;
        change(() => client(SecretService).updateSecret({ id, secretSpec: specOf(type, value) }), t("The value of {name} was replaced", { name: id.name }));
      }}
    >
      <ValueFields type={type} onValue={setValue} error={tried && value === "" ? t("A value is required.") : ""} />
    </Form>
  );
}

function DeleteForm({ secret: { id }, ...props }: Props & { readonly secret: Secret }) {
  const { change, ...state } = useChange(props);
  if (!id) return null;
  return (
    <Form
      label={t("Delete")}
      kind="danger"
      {...state}
      onClose={props.onClose}
      onSubmit={() => change(() => client(SecretService).deleteSecret({ id }), t("Secret {name} deleted", { name: id.name }))}
    >
      <p>
        {t("The secret {name} of {scope} is deleted. Tasks that ask for it get that of a wider scope, or fail before they start if there is none. Running attempts keep their value.", { name: <strong>{id.name}</strong>, scope: scopeWords(id) })}
      </p>
    </Form>
  );
}
