import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { AccessService, type Role } from "@gen/flytebinary/access/v1/access_pb.js";
import { client } from "@/api/transport";
import { ChangeForm, useChange, type ChangeProps } from "@/design/change-form";
import { Dialog } from "@/design/dialog";
import { Field, Input } from "@/design/field";
import { t } from "@/texts/texts";
import { PermissionFields } from "./permission-fields";
import { draftOf, permissionsOf } from "./words";

interface RoleDialogProps {
  /** The role that is changed, or "new"; the dialog is closed if undefined. */
  readonly edited: Role | "new" | undefined;
  readonly onClose: () => void;
}

/** Reads roles and rights again. */
function useReload(): () => void {
  const queries = useQueryClient();
  return () => void queries.invalidateQueries({ queryKey: ["access"] });
}

/** Creates a role of the installation, or replaces its permissions. */
export function RoleDialog({ edited, onClose }: RoleDialogProps) {
  const reload = useReload();
  const role = edited === "new" ? undefined : edited;
  return (
    <Dialog
      wide
      open={edited !== undefined}
      onClose={onClose}
      title={role ? t("Edit the role {name}", { name: role.name }) : t("Create role")}
      description={role ? t("Everyone who has the role gets the change within seconds.") : t("You can give only permissions that you have yourself in the whole installation.")}
    >
      <RoleForm {...(role && { role })} onClose={onClose} onChanged={reload} />
    </Dialog>
  );
}

const namePattern = /^[a-z][a-z0-9-]*$/;

function RoleForm({ role, ...props }: ChangeProps & { readonly role?: Role }) {
  const [name, setName] = useState(role?.name ?? "");
  const [description, setDescription] = useState(role?.description ?? "");
  const [draft, setDraft] = useState(() => draftOf(role?.permissions ?? []));
  const [tried, setTried] = useState(false);
  const { change, ...state } = useChange(props);
  const permissions = permissionsOf(draft);
  const wrongName = namePattern.test(name) ? "" : t("A name has lowercase letters, digits and hyphens, and begins with a letter.");
  const wrongPermissions = permissions.length > 0 ? "" : t("A role needs at least one permission.");
  return (
    <ChangeForm
      label={role ? t("Save") : t("Create")}
      {...state}
      onClose={props.onClose}
      onSubmit={() => {
        setTried(true);
        if (wrongName !== "" || wrongPermissions !== "") return;
        const request = { role: { name, description: description.trim(), permissions } };
        change(() => client(AccessService).putRole(request), role ? t("Role {name} changed", { name }) : t("Role {name} created", { name }));
      }}
    >
      {!role && (
        <Field label={t("Name")} hint={t("Bindings name it. It cannot be changed later.")} error={tried ? wrongName : ""}>
          {(control) => <Input {...control} autoComplete="off" autoCapitalize="none" maxLength={63} value={name} onChange={(event) => setName(event.target.value)} />}
        </Field>
      )}
      <Field label={t("Description")} hint={t("What it is for.")}>
        {(control) => <Input {...control} autoComplete="off" maxLength={255} value={description} onChange={(event) => setDescription(event.target.value)} />}
      </Field>
      <PermissionFields draft={draft} onChange={setDraft} error={tried ? wrongPermissions : ""} />
    </ChangeForm>
  );
}

/** Deletes a role of the installation. */
export function DeleteRoleDialog({ role, onClose }: { readonly role: Role | undefined; readonly onClose: () => void }) {
  const reload = useReload();
  return (
    <Dialog open={role !== undefined} onClose={onClose} title={t("Delete the role {name}", { name: role?.name ?? "" })} description={t("A role that a member still has cannot be deleted: remove it from its members first.")}>
      {role && <DeleteForm name={role.name} onClose={onClose} onChanged={reload} />}
    </Dialog>
  );
}

function DeleteForm({ name, ...props }: ChangeProps & { readonly name: string }) {
  const { change, ...state } = useChange(props);
  return (
    <ChangeForm label={t("Delete")} kind="danger" {...state} onClose={props.onClose} onSubmit={() => change(() => client(AccessService).deleteRole({ name }), t("Role {name} deleted", { name }))}>
      {null}
    </ChangeForm>
  );
}
