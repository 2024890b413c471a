import type { Setting } from "@gen/flytebinary/insight/v1/system_pb.js";
import { Tag } from "@/design/facts";
import { Input } from "@/design/field";
import { Table } from "@/design/table";
import { t, tn } from "@/texts/texts";
import type { SystemSearch } from "./search";
import { filterSettings } from "./words";
import css from "./system.module.css";

export interface SettingsProps {
  readonly settings: readonly Setting[];
  readonly search: SystemSearch;
  readonly onSearch: (next: SystemSearch) => void;
}

/** The effective configuration, without secrets. */
export function Settings({ settings, search, onSearch }: SettingsProps) {
  const found = filterSettings(settings, search.q ?? "", search.changed === true);
  const changed = settings.filter((one) => !one.isDefault).length;
  return (
    <section className={css["section"]} aria-labelledby="settings" data-testid="settings">
      <h2 id="settings">{t("Configuration")}</h2>
      <div className={css["bar"]}>
        <Input
          type="search"
          className={css["search"] ?? ""}
          data-filter
          aria-label={t("Search configuration")}
          placeholder={t("Search keys and values")}
          value={search.q ?? ""}
          onChange={(event) => onSearch({ ...(search.changed && { changed: true }), ...(event.target.value !== "" && { q: event.target.value }) })}
        />
        <label className={css["check"]}>
          <input
            type="checkbox"
            checked={search.changed === true}
            onChange={(event) => onSearch({ ...(search.q !== undefined && { q: search.q }), ...(event.target.checked && { changed: true }) })}
          />
          {t("Only changed values ({count})", { count: changed })}
        </label>
        <span className={css["muted"]} role="status">
          {tn(settings.length, "{found} of {n} key", "{found} of {n} keys", { found: found.length })}
        </span>
      </div>
      {found.length === 0 ? (
        <p className={css["muted"]}>{t("No results")}</p>
      ) : (
        <Table
          label={t("Configuration")}
          scroll="group"
          rows={found}
          keyOf={({ key }) => key}
          attributesOf={({ isDefault }) => ({ "data-changed": isDefault ? undefined : true })}
          columns={[
            { label: t("Key"), cell: ({ key }) => <code>{key}</code> },
            { label: t("Value"), wrap: true, cell: ({ value }) => (value === "" ? <span className={css["muted"]}>{t("(empty)")}</span> : <code>{value}</code>) },
            { label: t("Changed"), hideLabel: true, cell: ({ isDefault }) => !isDefault && <Tag>{t("changed")}</Tag> },
          ]}
        />
      )}
    </section>
  );
}
