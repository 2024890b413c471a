import { t } from "@/texts/texts";
import { whyUnfolded } from "./folds";
import type { Folds } from "./use-folds";
import { without, type RunsSearch } from "./search";
import css from "./list.module.css";

export interface FoldSwitchProps {
  readonly search: RunsSearch;
  readonly folds: Folds;
  readonly onSearch: (search: RunsSearch) => void;
}

/** Folds the runs of each trigger into one line, or lists them one by one. It is there where a trigger has runs. */
export function FoldSwitch({ search, folds, onSearch }: FoldSwitchProps) {
  if (folds.tooMany) return <span className={css["live"]}>{t("Too many triggers to fold their runs")}</span>;
  const why = whyUnfolded(search);
  if (why !== undefined) return search.query !== undefined || search.sort !== undefined ? <span className={css["fold-switch"]}>{why}</span> : null;
  if (search.unfold !== true && folds.folds.length === 0) return null;
  return (
    <label className={css["fold-switch"]}>
      <input type="checkbox" checked={search.unfold !== true} onChange={(event) => onSearch(event.target.checked ? folded(search) : { ...search, unfold: true })} />
      {t("One line per trigger")}
    </label>
  );
}

const folded = (search: RunsSearch): RunsSearch => without("unfold", search);
