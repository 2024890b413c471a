import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { useConnection } from "@/api/connection";
import type { Place } from "@/app/place";
import { useCommands } from "@/app/commands";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import { Empty, Loading, Notice, ProblemNotice } from "@/design/notice";
import { isLive } from "@/design/phases";
import { usePlaceCheck, type PlaceCheck } from "@/entities/project/unknown-place";
import { isTracked, nameOf, phaseOf } from "@/entities/run/listed";
import { useSummaries } from "@/entities/run/use-summaries";
import { useStars } from "@/entities/star/use-stars";
import { t } from "@/texts/texts";
import { useColumns } from "./columns";
import { FilterBar } from "./filter-bar";
import { RunList } from "./list";
import { NoRuns } from "./no-runs";
import { PausedBanner } from "./paused-banner";
import { also } from "@/entities/run/query/edit";
import { tryQuery } from "@/entities/run/query/parse";
import { When } from "@/design/time";
import { withQuery, withSort, type RunsSearch } from "./search";
import { SelectionBar } from "./selection-bar";
import { useAllRuns } from "./use-all-runs";
import { useClusters } from "./use-clusters";
import { FoldSwitch } from "./fold-switch";
import { linesOf, searchOfTrigger, untriggered } from "./folds";
import { useErrors } from "./use-errors";
import { useFolds } from "./use-folds";
import type { Runs } from "./use-runs";
import { useSelection } from "./use-selection";
import { givenViews, sameSearch } from "./views";
import css from "./list.module.css";

/** The runs of a project's domain. The URL holds the filters; the newest runs are live. */
export function RunsPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  useTitle(t("Runs"), `${project} / ${domain}`);
  const search: RunsSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const place = { project, domain };
  const folds = useFolds(place, search);
  const runs = useAllRuns(place, folds.on ? untriggered(search) : search);
  const loading = runs.loading || folds.loading;
  const lines = useMemo(() => (loading ? [] : linesOf(runs, folds.folds, folds.opened)), [loading, runs, folds]);
  const listed = lines.flatMap((line) => (line.kind === "run" ? [line.run] : []));
  const own = listed.filter((run) => !isTracked(run));
  const empty = !loading && !runs.problem && lines.length === 0;
  const check = usePlaceCheck(place, empty);
  const parsed = tryQuery(search.query ?? "");
  const wrong = "problem" in parsed ? parsed.problem : undefined;
  const columns = useColumns();
  const clusters = useClusters(place, listed, listed.length > 0);
  const errorOf = useErrors(place, listed);
  const summaries = useSummaries(place, own.filter((run) => isLive(phaseOf(run))).map(nameOf));
  const stars = useStars();
  const without = clusters.several ? [] : ["cluster"];
  const selection = useSelection(place, search);
  const onSearch = (next: RunsSearch) => void navigate({ to: "/domain/$domain/project/$project/runs", params: place, search: next });
  useCommands([
    ...givenViews
      .filter((view) => !sameSearch(view.search, search))
      .map((view) => ({ title: t("Show: {name}", { name: view.name }), also: t("view filter runs"), run: () => onSearch(view.search) })),
    { title: t("Refresh"), also: t("reload runs"), run: runs.refetch },
  ]);
  return (
    <div className={css["page"]}>
      <div className={css["top"]}>
        <div className={css["title"]}>
          <h1>{t("Runs")}</h1>
          {!check.checking && check.unknown === undefined && <Currency runs={runs} search={search} />}
          <FoldSwitch search={search} folds={folds} onSearch={onSearch} />
        </div>
        {search.query !== "is:paused" && <PausedBanner place={place} />}
        <FilterBar place={place} search={search} onSearch={onSearch} columns={columns} without={without} />
        <SelectionBar place={place} search={search} runs={own} more={runs.more || folds.folds.length > 0} selection={selection} />
        {runs.problem && <ProblemNotice error={runs.problem} retry={runs.refetch} />}
        {wrong && (
          <Notice tone="danger" title={t("The filter is wrong")}>
            <p>
              {t("At {position}, {word}: {message}", { position: wrong.at, word: <code>{wrong.word}</code>, message: wrong.message })}
            </p>
          </Notice>
        )}
        {runs.ofNewest && <p className={css["bound"]}>{t("Sorted: the newest runs only.")}</p>}
        {loading && <Loading what={t("runs")} />}
        {runs.lookedUntil && (
          <p className={css["bound"]} data-testid="looked-until">
            {t("Looked at runs back to {when}.", { when: <When at={runs.lookedUntil} /> })}{" "}
            <Button small onClick={runs.loadMore} disabled={runs.loadingMore}>
              {t("Look further")}
            </Button>
          </p>
        )}
        {empty && !wrong && !runs.lookedUntil && <Nothing place={place} check={check} search={search} onSearch={onSearch} />}
      </div>
      {lines.length > 0 && (
        <RunList
          lines={lines}
          onToggle={folds.toggle}
          onAll={(fold) => onSearch(searchOfTrigger(fold, search.query))}
          columns={columns.shown.filter(({ key }) => !without.includes(key))}
          facts={{ ...clusters, errorOf, summaries, stars, onCondition: (condition) => onSearch(withQuery(search, also(search.query ?? "", condition))) }}
          sort={search.sort ?? "newest"}
          onSort={(sort) => onSearch(withSort(search, sort))}
          more={runs.more && !runs.lookedUntil}
          loadMore={runs.loadMore}
          loadingMore={runs.loadingMore}
          selected={selection.all ? new Set(own.map(nameOf)) : selection.names}
          onSelect={(names, on) => selection.select(names, on, selection.all ? own.map(nameOf) : undefined)}
          onSeen={runs.onSeen}
        />
      )}
    </div>
  );
}

/** Shows whether the list is live. */
function Currency({ runs, search }: { readonly runs: Runs; readonly search: RunsSearch }) {
  const { lost } = useConnection();
  if (runs.loading || runs.problem) return null;
  if (runs.live && !lost) {
    return (
      <span className={css["live"]} data-testid="live" title={t("Changes appear immediately.")}>
        {t("Live")}
      </span>
    );
  }
  const why = lost ? t("connection lost") : search.sort ? t("refreshed every 5 s in this order") : t("refreshed every 5 s");
  return (
    <span className={`${css["live"] ?? ""} ${css["still"] ?? ""}`} data-testid="not-live">
      {t("Not live: {why}", { why })}
      <Button small kind="quiet" onClick={runs.refetch}>
        {t("Refresh")}
      </Button>
    </span>
  );
}

function Nothing({
  place: { project, domain },
  check,
  search,
  onSearch,
}: {
  readonly place: Place;
  readonly check: PlaceCheck;
  readonly search: RunsSearch;
  readonly onSearch: (search: RunsSearch) => void;
}) {
  if (check.unknown !== undefined || search.query === undefined) return <NoRuns place={{ project, domain }} check={check} />;
  return (
    <Empty title={t("No runs match these filters")}>
      <Button onClick={() => onSearch({})}>{t("Clear filters")}</Button>
    </Empty>
  );
}
