import { useNavigate } from "@tanstack/react-router";
import { Button } from "@/design/button";
import { Field, Input, Select } from "@/design/field";
import { t } from "@/texts/texts";
import { AuditSearch, outcomes } from "./search";
import css from "./access.module.css";

/** The filters of the audit. They take effect when the form is sent, for each search is itself a call that is recorded. */
export function AuditFilters({ search }: { readonly search: AuditSearch }) {
  const navigate = useNavigate();
  const text = (name: "subject" | "permission" | "project" | "domain", label: string, hint?: string) => (
    <Field label={label}>
      {(control) => <Input {...control} name={name} placeholder={hint} autoComplete="off" autoCapitalize="none" defaultValue={search[name] ?? ""} />}
    </Field>
  );
  const time = (name: "from" | "until", label: string) => (
    <Field label={label}>{(control) => <Input {...control} name={name} type="datetime-local" defaultValue={search[name] ?? ""} />}</Field>
  );
  return (
    <form
      role="search"
      aria-label={t("Audit events")}
      className={css["filters"]}
      onSubmit={(event) => {
        event.preventDefault();
        void navigate({ to: "/audit", search: AuditSearch(Object.fromEntries(new FormData(event.currentTarget))) });
      }}
    >
      {text("subject", t("Subject"))}
      {text("permission", t("Permission"), t("such as run.create"))}
      <Field label={t("Outcome")}>
        {(control) => (
          <Select {...control} name="outcome" defaultValue={search.outcome ?? ""}>
            <option value="">{t("Any")}</option>
            {outcomes.map((outcome) => (
              <option key={outcome}>{outcome}</option>
            ))}
          </Select>
        )}
      </Field>
      {text("project", t("Project"))}
      {text("domain", t("Domain"))}
      {time("from", t("From (UTC)"))}
      {time("until", t("Until (UTC)"))}
      <div className={css["buttons"]}>
        <Button type="submit" kind="primary">
          {t("Search")}
        </Button>
        {Object.keys(search).length > 0 && (
          <Button kind="quiet" onClick={() => void navigate({ to: "/audit", search: {} })}>
            {t("Clear filters")}
          </Button>
        )}
      </div>
    </form>
  );
}
