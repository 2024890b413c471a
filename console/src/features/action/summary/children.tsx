import { useEffect, useState } from "react";
import { Input } from "@/design/field";
import { count } from "@/design/format";
import { Phase } from "@/design/phase";
import { nameOf } from "@/entities/action/identity";
import { matchesTerm, termsOf } from "@/entities/action/terms";
import { useWanted } from "@/entities/action/use-wanted";
import { none, type RunModel } from "@/entities/run/model/run-model";
import { useModelVersion } from "@/entities/run/model/use-run-model";
import { t } from "@/texts/texts";
import css from "./summary.module.css";

/** More would push the details out of the panel. The actions view lists all. */
const maxChildren = 10;

/** The first children of an action, or those that match a filter. */
export function Children({ action, model, onSelect }: { readonly action: string; readonly model: RunModel; readonly onSelect: (action: string) => void }) {
  const [filter, setFilter] = useState("");
  useModelVersion(model);
  const terms = termsOf(filter);
  const searching = terms.length > 0;
  useEffect(() => {
    model.inputs.search("children", searching);
    return () => model.inputs.search("children", false);
  }, [model, searching]);
  const row = model.row(action);
  const total = row === none ? 0 : model.childCount(row);
  const shown: number[] = [];
  let matching = searching ? 0 : total;
  if (total > 0) {
    for (const child of model.children(row)) {
      if (!searching && shown.length === maxChildren) break;
      if (!terms.every((term) => matchesTerm(model, child, term))) continue;
      if (searching) matching++;
      if (shown.length < maxChildren) shown.push(child);
    }
  }
  useWanted(model, "children", shown);
  if (total === 0) return null;
  return (
    <section className={css["section"]}>
      <h3>{t("Children")}</h3>
      {total > maxChildren && (
        <Input type="search" aria-label={t("Find children by task, name or input")} placeholder={t("Find children")} value={filter} onChange={(event) => setFilter(event.target.value)} />
      )}
      <ul className={css["children"]}>
        {shown.map((child) => (
          <li key={child}>
            <Phase phase={model.phase(child)} compact />
            <button type="button" className={css["link"]} onClick={() => onSelect(model.name(child))}>
              {nameOf(model, child)}
            </button>
          </li>
        ))}
      </ul>
      {matching === 0 && <p className={css["muted"]}>{t("No matches")}</p>}
      {matching > shown.length && (
        <p className={css["muted"]}>
          {t("Showing {maxChildren} of {matching}. The actions view lists all.", { maxChildren, matching: count(matching) })}
        </p>
      )}
    </section>
  );
}
