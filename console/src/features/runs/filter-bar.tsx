import { Columns3, ListFilter, Timer, X } from "lucide-react";
import { useState } from "react";
import type { Place } from "@/app/place";
import { usePreferences } from "@/app/preferences";
import { Button, IconButton } from "@/design/button";
import { Input } from "@/design/field";
import { moment } from "@/design/format";
import { Menu, MenuCheck, MenuChoice, MenuItem } from "@/design/menu";
import { Phase } from "@/design/phase";
import { phases } from "@/design/phases";
import { chipsOf, sinceText } from "./chips";
import { columns, type useColumns } from "./columns";
import { FilterDialog } from "./filter-dialog";
import { parseQuery } from "./query";
import { patched, toggled, type RunsSearch, type SearchPatch } from "./search";
import { ViewsMenu } from "./views-menu";
import css from "./list.module.css";

export interface FilterBarProps {
  readonly place: Place;
  readonly search: RunsSearch;
  readonly onSearch: (search: RunsSearch) => void;
  readonly columns: ReturnType<typeof useColumns>;
  /** The keys of columns that the menu leaves out. */
  readonly without: readonly string[];
}

const spans = ["1h", "24h", "7d", "30d"] as const;

/** The filters of the list: typed, from menus, and as chips that can be removed. */
export function FilterBar({ place, search, onSearch, columns: chosen, without }: FilterBarProps) {
  const { zone } = usePreferences();
  const [typed, setTyped] = useState("");
  const [wrong, setWrong] = useState<readonly string[]>([]);
  const [open, setOpen] = useState(false);
  const change = (patch: SearchPatch) => onSearch(patched(search, patch));
  const atMoment = (at: Date) => moment(at, zone);
  const chips = chipsOf(search, atMoment);
  const submit = () => {
    const query = parseQuery(typed, search);
    setWrong(query.wrong);
    setTyped(query.wrong.join(" "));
    if (Object.keys(query.patch).length > 0) change(query.patch);
  };
  return (
    <>
      <div className={css["bar"]} role="search" aria-label="Runs">
        <ViewsMenu search={search} onChoose={onSearch} />
        <form
          className={css["search"]}
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
        >
          <Input
            type="search"
            data-filter
            aria-label="Filter runs"
            aria-invalid={wrong.length > 0}
            aria-describedby={wrong.length > 0 ? "filter-wrong" : undefined}
            placeholder="Filter: train, phase:failed, label:team=ml …"
            title={
              "Press / to focus. A word matches a part of the name of a run or of its task.\nKeys: name: task: owner: phase: label: source: trigger: cluster: since: until: is:paused"
            }
            autoComplete="off"
            spellCheck={false}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </form>
        <Menu
          align="start"
          trigger={
            <Button>
              <ListFilter size={14} aria-hidden />
              Phase
            </Button>
          }
        >
          {phases.map((look) => (
            <MenuCheck
              key={look.key}
              checked={search.phases?.split(",").includes(look.key) ?? false}
              onChange={() => change({ phases: toggled(search.phases, look.key) })}
            >
              <Phase phase={look.phase} />
            </MenuCheck>
          ))}
        </Menu>
        <Menu
          align="start"
          trigger={
            <Button>
              <Timer size={14} aria-hidden />
              Time
            </Button>
          }
        >
          <MenuChoice
            value={search.since ?? ""}
            options={[["", "any time"], ...spans.map((span) => [span, sinceText(span, atMoment)] as const)]}
            onChange={(since) => change({ since: since || undefined, until: undefined })}
          />
          <MenuItem onSelect={() => setOpen(true)}>Custom range …</MenuItem>
        </Menu>
        <Button onClick={() => setOpen(true)}>All filters …</Button>
        <Menu
          trigger={
            <IconButton label="Columns">
              <Columns3 size={16} aria-hidden />
            </IconButton>
          }
        >
          {columns
            .filter(({ key }) => key !== "run" && !without.includes(key))
            .map(({ key, label }) => (
              <MenuCheck key={key} checked={chosen.isShown(key)} onChange={() => chosen.toggle(key)}>
                {label}
              </MenuCheck>
            ))}
          {!chosen.isDefault && <MenuItem onSelect={chosen.reset}>Reset</MenuItem>}
        </Menu>
      </div>
      {wrong.length > 0 && (
        <p id="filter-wrong" role="alert" className={css["wrong"]}>
          Unknown filter: {wrong.join(", ")}. Use name, task, owner, phase, label, source, trigger, cluster, since, until or is:paused.
        </p>
      )}
      {chips.length > 0 && (
        <ul className={css["chips"]} aria-label="Filters">
          {chips.map((chip) => (
            <li key={chip.key} className={css["chip"]}>
              {chip.text}
              <button type="button" aria-label={`Remove filter: ${chip.text}`} onClick={() => onSearch(chip.without)}>
                <X size={12} aria-hidden />
              </button>
            </li>
          ))}
          <li>
            <Button small kind="quiet" onClick={() => onSearch(search.sort === undefined ? {} : { sort: search.sort })}>
              Clear filters
            </Button>
          </li>
        </ul>
      )}
      <FilterDialog key={String(open)} place={place} open={open} onClose={() => setOpen(false)} search={search} onSearch={onSearch} />
    </>
  );
}
