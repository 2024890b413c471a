import type { Setting } from "@gen/flytebinary/insight/v1/system_pb.js";
import { Tag } from "@/design/facts";
import { Input } from "@/design/field";
import { plural } from "@/design/format";
import { Table } from "@/design/table";
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
      <h2 id="settings">Configuration</h2>
      <div className={css["bar"]}>
        <Input
          type="search"
          className={css["search"] ?? ""}
          data-filter
          aria-label="Search configuration"
          placeholder="Search keys and values"
          value={search.q ?? ""}
          onChange={(event) => onSearch({ ...(search.changed && { changed: true }), ...(event.target.value !== "" && { q: event.target.value }) })}
        />
        <label className={css["check"]}>
          <input
            type="checkbox"
            checked={search.changed === true}
            onChange={(event) => onSearch({ ...(search.q !== undefined && { q: search.q }), ...(event.target.checked && { changed: true }) })}
          />
          Only changed values ({changed})
        </label>
        <span className={css["muted"]} role="status">
          {found.length} of {plural(settings.length, "key")}
        </span>
      </div>
      {found.length === 0 ? (
        <p className={css["muted"]}>No results</p>
      ) : (
        <Table
          label="Configuration"
          scroll="group"
          rows={found}
          keyOf={({ key }) => key}
          attributesOf={({ isDefault }) => ({ "data-changed": isDefault ? undefined : true })}
          columns={[
            { label: "Key", cell: ({ key }) => <code>{key}</code> },
            { label: "Value", wrap: true, cell: ({ value }) => (value === "" ? <span className={css["muted"]}>(empty)</span> : <code>{value}</code>) },
            { label: "Changed", hideLabel: true, cell: ({ isDefault }) => !isDefault && <Tag>changed</Tag> },
          ]}
        />
      )}
    </section>
  );
}
