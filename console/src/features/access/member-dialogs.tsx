import { useState } from "react";
import { AccessService, MemberKind, type Binding } from "@gen/flytebinary/access/v1/access_pb.js";
import { client } from "@/api/transport";
import { ChangeForm, useChange, type ChangeProps } from "@/design/change-form";
import { Dialog } from "@/design/dialog";
import { Field, Input, Select } from "@/design/field";
import { placeWords, whereOf, type Where } from "@/entities/access/rights";
import { t } from "@/texts/texts";
import { placesOf, RoleFields, type RoleInPlace } from "./role-fields";
import { memberKinds, memberName } from "./words";

interface AddProps extends ChangeProps {
  /** The project's domain whose places can be chosen. */
  readonly here: Where;
  /** The place that is chosen first. */
  readonly place: Where;
}

/** Gives a role to a user, a group or a key. */
export function AddMemberDialog({ open, ...props }: AddProps & { readonly open: boolean }) {
  return (
    <Dialog open={open} onClose={props.onClose} title={t("Add member")} description={t("You can give only what you have yourself. It holds within seconds.")}>
      <AddForm {...props} />
    </Dialog>
  );
}

const nameHints: Readonly<Partial<Record<MemberKind, string>>> = {
  [MemberKind.USER]: t("The subject of the person, as the account menu shows it."),
  [MemberKind.GROUP]: t("The name of the group at the identity provider."),
  [MemberKind.KEY]: t("The ID of the key."),
};

function AddForm({ here, place, ...props }: AddProps) {
  const [kind, setKind] = useState(MemberKind.USER);
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<RoleInPlace>({ role: "viewer", place });
  const [tried, setTried] = useState(false);
  const { change, ...state } = useChange(props);
  return (
    <ChangeForm
      label={t("Add")}
      {...state}
      onClose={props.onClose}
      onSubmit={() => {
        setTried(true);
        const member = { kind, name: name.trim() };
        if (member.name === "") return;
        change(() => client(AccessService).createBinding({ member, role: chosen.role, scope: chosen.place }), t("{name} has the role {role}", { name: member.name, role: chosen.role }));
      }}
    >
      <Field label={t("Kind")}>
        {(control) => (
          <Select {...control} value={kind} onChange={(event) => setKind(Number(event.target.value))}>
            {memberKinds.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t("Name")} hint={nameHints[kind]} error={tried && name.trim() === "" ? t("A name is required.") : ""}>
        {(control) => <Input {...control} autoComplete="off" autoCapitalize="none" maxLength={255} value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <RoleFields {...chosen} places={placesOf(here)} onChange={setChosen} />
    </ChangeForm>
  );
}

/** Takes a role from a member. */
export function RemoveMemberDialog({ binding, ...props }: ChangeProps & { readonly binding: Binding | undefined }) {
  return (
    <Dialog open={binding !== undefined} onClose={props.onClose} title={t("Remove {name}", { name: binding ? memberName(binding) : "" })}>
      {binding && <RemoveForm binding={binding} {...props} />}
    </Dialog>
  );
}

function RemoveForm({ binding, ...props }: ChangeProps & { readonly binding: Binding }) {
  const { change, ...state } = useChange(props);
  const { id, role, scope } = binding;
  const name = memberName(binding);
  const place = whereOf(scope);
  return (
    <ChangeForm
      label={t("Remove")}
      kind="danger"
      {...state}
      onClose={props.onClose}
      onSubmit={() => change(() => client(AccessService).deleteBinding({ id, scope: place }), t("{name} no longer has the role {role}", { name, role }))}
    >
      <p>
        {t("{name} loses the role {role} in {place} within seconds. Other roles of the member stay.", { name: <strong>{name}</strong>, role, place: placeWords(place) })}
      </p>
    </ChangeForm>
  );
}
