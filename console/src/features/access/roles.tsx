import type { Role } from "@gen/flytebinary/access/v1/access_pb.js";
import { Facts } from "@/design/facts";
import { useMe, useRoles } from "@/entities/access/use-me";
import { abilities } from "./words";
import css from "@/design/page.module.css";

/** What each role may do, in words. */
export function Roles() {
  const roles = useRoles();
  const me = useMe();
  const own = new Set(me?.grants.flatMap((grant) => grant.roles));
  // A pattern such as *.* names none. All permissions are those that any role or the reader has by name.
  const known = [...new Set([...roles.flatMap(({ permissions }) => permissions), ...(me?.grants.flatMap(({ permissions }) => permissions) ?? [])])]
    .filter((permission) => !permission.includes("*"))
    .sort();
  return (
    <section className={css["section"]} aria-label="What each role may do">
      <h2>What each role may do</h2>
      {roles.map((role) => (
        <RoleWords key={role.name} role={role} known={known} own={own.has(role.name)} />
      ))}
    </section>
  );
}

function RoleWords({ role, known, own }: { readonly role: Role; readonly known: readonly string[]; readonly own: boolean }) {
  return (
    <details data-testid="role" data-role={role.name}>
      <summary>
        <strong>{role.name}</strong> <span className={css["muted"]}>{role.description || "a role of this installation"}</span>
        {own && " (you have it)"}
      </summary>
      {role.permissions.includes("*.*") ? <p>Everything, in the whole installation.</p> : <Facts facts={abilities(role, known)} />}
    </details>
  );
}
