import { useState } from "react";
import { AccessService, type Role } from "@gen/flytebinary/access/v1/access_pb.js";
import { Button } from "@/design/button";
import { Facts, Tag } from "@/design/facts";
import { everywhere } from "@/entities/access/rights";
import { useDenied } from "@/entities/access/use-denied";
import { useMe, useRoles } from "@/entities/access/use-me";
import { t } from "@/texts/texts";
import { DeleteRoleDialog, RoleDialog } from "./role-dialogs";
import { abilities } from "./words";
import css from "@/design/page.module.css";

const size = (role: Role) => (role.permissions.includes("*.*") ? Infinity : role.permissions.length);

/** The roles of the product come first, each of which has what the smaller ones have, as their words say. */
const inOrder = (roles: readonly Role[]) => [...roles].sort((a, b) => Number(b.builtIn) - Number(a.builtIn) || (a.builtIn ? size(a) - size(b) : 0));

/** What each role may do, in words. Those who may make roles of their own here. */
export function Roles() {
  const roles = useRoles();
  const me = useMe();
  const own = new Set(me?.grants.flatMap((grant) => grant.roles));
  const [edited, setEdited] = useState<Role | "new">();
  const [deleted, setDeleted] = useState<Role>();
  const noCreate = useDenied(AccessService.method.putRole, everywhere);
  return (
    <section className={css["section"]} aria-labelledby="roles">
      <div className={css["head"]}>
        <h2 id="roles">{t("What each role may do")}</h2>
        <div className={css["actions"]}>
          <Button denied={noCreate} onClick={() => setEdited("new")}>
            {t("Create role")}
          </Button>
        </div>
      </div>
      {inOrder(roles).map((role) => (
        <RoleWords key={role.name} role={role} own={own.has(role.name)} onEdit={() => setEdited(role)} onDelete={() => setDeleted(role)} />
      ))}
      <RoleDialog edited={edited} onClose={() => setEdited(undefined)} />
      <DeleteRoleDialog role={deleted} onClose={() => setDeleted(undefined)} />
    </section>
  );
}

interface RoleWordsProps {
  readonly role: Role;
  readonly own: boolean;
  readonly onEdit: () => void;
  readonly onDelete: () => void;
}

function RoleWords({ role, own, onEdit, onDelete }: RoleWordsProps) {
  return (
    <details data-testid="role" data-role={role.name}>
      <summary>
        <strong>{role.name}</strong> <span className={css["muted"]}>{role.description || t("a role of this installation")}</span>
        {own && ` ${t("(you have it)")}`} {!role.builtIn && <Tag>{role.configured ? t("in the configuration") : t("own")}</Tag>}
      </summary>
      <div className={css["section"]} style={{ padding: "var(--space-2) var(--space-4)" }}>
        {role.permissions.includes("*.*") ? <p>{t("Everything, in the whole installation.")}</p> : <Facts facts={abilities(role).map(([group, words]) => [group, words.join(". ")] as const)} />}
        {!role.builtIn && !role.configured && <Change role={role} onEdit={onEdit} onDelete={onDelete} />}
      </div>
    </details>
  );
}

function Change({ role, onEdit, onDelete }: Omit<RoleWordsProps, "own">) {
  const noEdit = useDenied(AccessService.method.putRole, everywhere);
  const noDelete = useDenied(AccessService.method.deleteRole, everywhere);
  return (
    <div className={css["inline"]}>
      <Button small denied={noEdit} onClick={onEdit} aria-label={t("Edit the role {name}", { name: role.name })}>
        {t("Edit")}
      </Button>
      <Button small denied={noDelete} onClick={onDelete} aria-label={t("Delete the role {name}", { name: role.name })}>
        {t("Delete")}
      </Button>
    </div>
  );
}
