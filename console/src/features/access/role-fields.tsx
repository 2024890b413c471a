import { Field, Select } from "@/design/field";
import { placeWords, type Where } from "@/entities/access/rights";
import { useRoles } from "@/entities/access/use-me";
import { t } from "@/texts/texts";

export interface RoleInPlace {
  readonly role: string;
  readonly place: Where;
}

interface RoleFieldsProps extends RoleInPlace {
  readonly places: readonly Where[];
  readonly onChange: (next: RoleInPlace) => void;
}

/** Chooses a role, and where it holds. */
export function RoleFields({ role, place, places, onChange }: RoleFieldsProps) {
  const roles = useRoles();
  return (
    <>
      <Field label={t("Role")} hint={roles.find(({ name }) => name === role)?.description}>
        {(control) => (
          <Select {...control} value={role} onChange={(event) => onChange({ role: event.target.value, place })}>
            {roles.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t("Where")}>
        {(control) => (
          <Select
            {...control}
            value={places.findIndex((one) => one.project === place.project && one.domain === place.domain)}
            onChange={(event) => onChange({ role, place: places[Number(event.target.value)] ?? place })}
          >
            {places.map((one, at) => (
              <option key={at} value={at}>
                {placeWords(one)}
              </option>
            ))}
          </Select>
        )}
      </Field>
    </>
  );
}

/** The places of a project's domain, narrowest first. */
export const placesOf = ({ project, domain }: Where): readonly Where[] => [
  ...(project !== "" && domain !== "" ? [{ project, domain }] : []),
  ...(project !== "" ? [{ project, domain: "" }] : []),
  { project: "", domain: "" },
];
