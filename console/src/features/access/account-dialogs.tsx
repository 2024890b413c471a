import { useState } from "react";
import { AccountService, type Account } from "@gen/flytebinary/access/v1/access_pb.js";
import { client } from "@/api/transport";
import { ChangeForm, useChange, type ChangeProps } from "@/design/change-form";
import { Dialog } from "@/design/dialog";
import { Field, Input } from "@/design/field";
import { t } from "@/texts/texts";
import { accountNameError, groupsOf, passwordError } from "./words";

/** What is done to the local accounts. */
export type AccountChange =
  | { readonly kind: "create" }
  | { readonly kind: "edit" | "password" | "unlock" | "sign-out" | "remove"; readonly account: Account };

const words: Readonly<Record<AccountChange["kind"], readonly [title: string, description: string]>> = {
  create: [t("Create account"), t("The person signs in with the name and the password. Roles are given to the name or to its groups.")],
  edit: [t("Edit"), t("Roles of the groups hold within seconds, also in open sessions.")],
  password: [t("Set the password of"), t("It unlocks the account and ends its sessions. Tell the person the password in a safe way.")],
  unlock: [t("Unlock"), t("The account can sign in at once, in spite of the wrong passwords.")],
  "sign-out": [t("Sign out"), t("The sessions end within seconds, in browsers and at the command line.")],
  remove: [t("Remove"), t("Its sessions, API keys and roles end. This cannot be undone.")],
};

/** The dialog for a change of the accounts; none if it is undefined. */
export function AccountDialogs({ change, ...props }: ChangeProps & { readonly change: AccountChange | undefined }) {
  const [title, description] = change ? words[change.kind] : ["", ""];
  return (
    <Dialog open={change !== undefined} onClose={props.onClose} title={change && change.kind !== "create" ? `${title} ${change.account.name}` : title} description={description}>
      {change && <Form change={change} {...props} />}
    </Dialog>
  );
}

function Form({ change, ...props }: ChangeProps & { readonly change: AccountChange }) {
  switch (change.kind) {
    case "create":
      return <CreateForm {...props} />;
    case "edit":
      return <EditForm account={change.account} {...props} />;
    case "password":
      return <PasswordForm account={change.account} {...props} />;
    case "sign-out":
      return <SignOutForm account={change.account} {...props} />;
    default:
      return <SimpleForm kind={change.kind} account={change.account} {...props} />;
  }
}

interface Details {
  readonly displayName: string;
  readonly email: string;
  readonly groups: string;
}

function DetailFields({ displayName, email, groups, onChange }: Details & { readonly onChange: (details: Details) => void }) {
  const details = { displayName, email, groups };
  const text = (name: keyof Details, label: string, hint: string, type = "text") => (
    <Field label={label} hint={hint}>
      {(control) => <Input {...control} type={type} autoComplete="off" maxLength={name === "groups" ? 2000 : 255} value={details[name]} onChange={(event) => onChange({ ...details, [name]: event.target.value })} />}
    </Field>
  );
  return (
    <>
      {text("displayName", t("Display name"), t("Such as Grace Hopper. May be empty."))}
      {text("email", "E-mail", t("Shown to those who ask for access. May be empty."), "email")}
      {text("groups", t("Groups"), t("With commas between them, such as research, oncall."))}
    </>
  );
}

interface NewPasswordProps {
  readonly label: string;
  readonly value: string;
  readonly tried: boolean;
  readonly onChange: (value: string) => void;
}

/** The field for a new password. */
export function NewPassword({ label, value, tried, onChange }: NewPasswordProps) {
  return (
    <Field label={label} hint={t("8 to 1024 bytes.")} error={tried ? passwordError(value) : ""}>
      {(control) => <Input {...control} type="password" autoComplete="new-password" value={value} onChange={(event) => onChange(event.target.value)} />}
    </Field>
  );
}

function CreateForm(props: ChangeProps) {
  const [name, setName] = useState("");
  const [details, setDetails] = useState<Details>({ displayName: "", email: "", groups: "" });
  const [password, setPassword] = useState("");
  const [tried, setTried] = useState(false);
  const { change, ...state } = useChange(props);
  return (
    <ChangeForm
      label={t("Create")}
      {...state}
      onClose={props.onClose}
      onSubmit={() => {
        setTried(true);
        if (accountNameError(name) !== "" || passwordError(password) !== "") return;
        const account = { ...details, name, groups: groupsOf(details.groups) };
        change(() => client(AccountService).createAccount({ account, password }), t("Account {name} created", { name }));
      }}
    >
      <Field label={t("Name")} hint={t("What the person signs in with.")} error={tried ? accountNameError(name) : ""}>
        {(control) => <Input {...control} autoComplete="off" autoCapitalize="none" maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <DetailFields {...details} onChange={setDetails} />
      <NewPassword label={t("First password")} value={password} tried={tried} onChange={setPassword} />
    </ChangeForm>
  );
}

type AccountProps = ChangeProps & { readonly account: Account };

function EditForm({ account: { name, displayName, email, groups }, ...props }: AccountProps) {
  const [details, setDetails] = useState<Details>({ displayName, email, groups: groups.join(", ") });
  const { change, ...state } = useChange(props);
  return (
    <ChangeForm
      label={t("Save")}
      {...state}
      onClose={props.onClose}
      onSubmit={() => change(() => client(AccountService).updateAccount({ account: { ...details, name, groups: groupsOf(details.groups) } }), t("Account {name} changed", { name }))}
    >
      <DetailFields {...details} onChange={setDetails} />
    </ChangeForm>
  );
}

function PasswordForm({ account: { name }, ...props }: AccountProps) {
  const [password, setPassword] = useState("");
  const [tried, setTried] = useState(false);
  const { change, ...state } = useChange(props);
  return (
    <ChangeForm
      label={t("Set password")}
      {...state}
      onClose={props.onClose}
      onSubmit={() => {
        setTried(true);
        if (passwordError(password) === "") change(() => client(AccountService).setPassword({ name, password }), t("Password of {name} replaced", { name }));
      }}
    >
      <NewPassword label={t("New password")} value={password} tried={tried} onChange={setPassword} />
    </ChangeForm>
  );
}

function SignOutForm({ account: { name, subject }, ...props }: AccountProps) {
  const [keys, setKeys] = useState(false);
  const { change, ...state } = useChange(props);
  return (
    <ChangeForm label={t("Sign out")} kind="danger" {...state} onClose={props.onClose} onSubmit={() => change(() => client(AccountService).endSessions({ subject, keys }), t("{name} is signed out", { name }))}>
      <label>
        <input type="checkbox" checked={keys} onChange={(event) => setKeys(event.target.checked)} /> {t("Also revoke the API keys of this person")}
      </label>
    </ChangeForm>
  );
}

function SimpleForm({ kind, account: { name }, ...props }: AccountProps & { readonly kind: "unlock" | "remove" }) {
  const { change, ...state } = useChange(props);
  return kind === "unlock" ? (
    <ChangeForm label={t("Unlock")} {...state} onClose={props.onClose} onSubmit={() => change(() => client(AccountService).unlockAccount({ name }), t("Account {name} unlocked", { name }))}>
      {null}
    </ChangeForm>
  ) : (
    <ChangeForm label={t("Remove")} kind="danger" {...state} onClose={props.onClose} onSubmit={() => change(() => client(AccountService).removeAccount({ name }), t("Account {name} removed", { name }))}>
      {null}
    </ChangeForm>
  );
}
