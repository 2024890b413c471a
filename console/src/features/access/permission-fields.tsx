import { Field, Input } from "@/design/field";
import { permissionGroups } from "@/entities/access/permissions";
import { can, everywhere, isOfOperators } from "@/entities/access/rights";
import { useMe } from "@/entities/access/use-me";
import { t } from "@/texts/texts";
import { givenByPattern, type RoleDraft } from "./words";
import css from "./access.module.css";

interface PermissionFieldsProps {
  readonly draft: RoleDraft;
  readonly onChange: (next: RoleDraft) => void;
  readonly error: string;
}

/** Chooses the permissions of a role, by group. What a pattern gives is chosen with it. */
export function PermissionFields({ draft, onChange, error }: PermissionFieldsProps) {
  const me = useMe();
  const toggle = (permission: string, on: boolean) => {
    const chosen = new Set(draft.chosen);
    if (on) chosen.add(permission);
    else chosen.delete(permission);
    onChange({ ...draft, chosen });
  };
  return (
    <>
      <div className={css["groups"]}>
        {permissionGroups.map(({ title, permissions }) => (
          <fieldset key={title} className={css["group"]}>
            <legend>{title}</legend>
            {Object.entries(permissions).map(([permission, words]) => {
              const given = givenByPattern(draft, permission);
              const lacking = me !== undefined && !can(me, permission, everywhere);
              const on = given || draft.chosen.has(permission);
              const never = isOfOperators(permission);
              return (
                <label key={permission} className={css["choice"]}>
                  <input type="checkbox" checked={on} disabled={given || ((lacking || never) && !on)} onChange={(event) => toggle(permission, event.target.checked)} />
                  <span>
                    {words} <code>{permission}</code>
                    {given && ` ${t("by a pattern")}`}
                    {never && !on && ` ${t("(for operators alone)")}`}
                    {lacking && !never && !on && ` ${t("(you do not have it)")}`}
                  </span>
                </label>
              );
            })}
          </fieldset>
        ))}
      </div>
      <Field label={t("Patterns")} hint={t("Such as *.view or run.*, with spaces between them. They also give permissions that later versions add.")} error={error}>
        {(control) => (
          <Input {...control} autoComplete="off" autoCapitalize="none" value={draft.patterns} onChange={(event) => onChange({ ...draft, patterns: event.target.value })} />
        )}
      </Field>
    </>
  );
}
