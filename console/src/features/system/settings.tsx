import type { Setting } from "@gen/flytebinary/insight/v1/system_pb.js";
import { Tag } from "@/design/facts";
import { Input } from "@/design/field";
import { plural } from "@/design/format";
import type { SystemSearch } from "./search";
import { filterSettings } from "./words";
import { Wide } from "./wide";
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
        <Wide label="Configuration">
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Value</th>
              <th scope="col">
                <span className="visually-hidden">Changed</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {found.map((one) => (
              <tr key={one.key} data-changed={!one.isDefault || undefined}>
                <th scope="row">
                  <code>{one.key}</code>
                </th>
                <td className={css["words"]}>{one.value === "" ? <span className={css["muted"]}>(empty)</span> : <code>{one.value}</code>}</td>
                <td>{!one.isDefault && <Tag>changed</Tag>}</td>
              </tr>
            ))}
          </tbody>
        </Wide>
      )}
    </section>
  );
}
