import { Columns3, ListFilter, Timer } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { chunk } from "@/api/chunk";
import type { Place } from "@/app/place";
import { usePreferences } from "@/app/preferences";
import { Button, IconButton } from "@/design/button";
import { moment } from "@/design/format";
import { Menu, MenuCheck, MenuChoice, MenuItem } from "@/design/menu";
import { Phase } from "@/design/phase";
import { phases } from "@/design/phases";
import { partsOf, type Term } from "@/entities/run/query/node";
import { replaced, toggled, valuesOf } from "@/entities/run/query/edit";
import { parseQuery, tryQuery } from "@/entities/run/query/parse";
import { t } from "@/texts/texts";
import { columns, type useColumns } from "./columns";
import { QueryInput } from "./query-input";
import { withQuery, type RunsSearch } from "./search";
import { ViewsMenu } from "./views-menu";
import css from "./list.module.css";

const FilterDialog = lazy(() => chunk(() => import("./filter-dialog")).then((m) => ({ default: m.FilterDialog })));

export interface FilterBarProps {
  readonly place: Place;
  readonly search: RunsSearch;
  readonly onSearch: (search: RunsSearch) => void;
  readonly columns: ReturnType<typeof useColumns>;
  /** The keys of columns that the menu leaves out. */
  readonly without: readonly string[];
}

const spans: readonly (readonly [value: string, label: string])[] = [
  ["1h", t("last hour")],
  ["24h", "last 24 hours"],
  ["7d", "last 7 days"],
  ["30d", "last 30 days"],
];

const isCreated = ({ key }: Term): boolean => key === "created";

/** The query of the list, typed or composed from menus. */
export function FilterBar({ place, search, onSearch, columns: chosen, without }: FilterBarProps) {
  const { zone } = usePreferences();
  const [open, setOpen] = useState(false);
  const { query = "" } = search;
  const onQuery = (next: string) => onSearch(withQuery(search, next));
  const answer = tryQuery(query);
  const node = "node" in answer ? answer.node : parseQuery("");
  const wanted = valuesOf(node, "phase");
  const since = partsOf(node).flatMap((part) => (part.kind === "term" && isCreated(part.term) && part.term.op === ">=" ? [part.term.text] : []))[0] ?? "";
  const choices = spans.some(([span]) => span === since) || since === "" ? spans : [...spans, [since, sinceText(since, zone)] as const];
  return (
    <>
      <div className={css["bar"]} role="search" aria-label={t("Runs")}>
        <ViewsMenu place={place} search={search} onChoose={onSearch} />
        <QueryInput place={place} query={query} onQuery={onQuery} />
        <Menu
          align="start"
          trigger={
            <Button>
              <ListFilter size={14} aria-hidden />
              {t("Phase")}
            </Button>
          }
        >
          {phases.map((look) => (
            <MenuCheck key={look.key} checked={wanted.includes(look.key)} onChange={() => onQuery(toggled(query, "phase", look.key))}>
              <Phase phase={look.phase} />
            </MenuCheck>
          ))}
        </Menu>
        <Menu
          align="start"
          trigger={
            <Button>
              <Timer size={14} aria-hidden />
              {t("Time")}
            </Button>
          }
        >
          <MenuChoice
            value={since}
            options={[["", t("any time")], ...choices]}
            onChange={(span) => onQuery(replaced(query, isCreated, span === "" ? [] : [`since:${span}`]))}
          />
          <MenuItem onSelect={() => setOpen(true)}>{t("Custom range …")}</MenuItem>
        </Menu>
        <Button onClick={() => setOpen(true)}>{t("All filters …")}</Button>
        {query !== "" && (
          <Button kind="quiet" onClick={() => onQuery("")}>
            {t("Clear filters")}
          </Button>
        )}
        <Menu
          trigger={
            <IconButton label={t("Columns")}>
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
          {!chosen.isDefault && <MenuItem onSelect={chosen.reset}>{t("Reset")}</MenuItem>}
        </Menu>
      </div>
      {open && (
        <Suspense>
          <FilterDialog place={place} onClose={() => setOpen(false)} search={search} onSearch={onSearch} />
        </Suspense>
      )}
    </>
  );
}

function sinceText(since: string, zone: string | undefined): string {
  const at = Date.parse(since);
  return Number.isNaN(at) ? t("last {since}", { since }) : t("since {start}", { start: moment(new Date(at), zone) });
}
