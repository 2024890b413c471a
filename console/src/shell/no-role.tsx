import { useParams } from "@tanstack/react-router";
import { Notice } from "@/design/notice";
import { AskWhom } from "@/entities/access/ask-whom";
import { askWords, covers, everywhere, placeWords, whereOf, type Where } from "@/entities/access/rights";
import { useMe } from "@/entities/access/use-me";
import { t } from "@/texts/texts";
import css from "./shell.module.css";

/** Says that the reader has no role in the place of the page, or none at all, and whom to ask. It does not tell whether the place exists. */
export function NoRole() {
  const me = useMe();
  const { project, domain } = useParams({ strict: false });
  if (!me || me.open) return null;
  const place: Where | undefined = project !== undefined && domain !== undefined ? { project, domain } : undefined;
  const some = me.grants.some(({ scope }) => place === undefined || covers(whereOf(scope), place));
  if (some) return null;
  return (
    <div className={css["no-role"]}>
      <Notice role="status" tone="warning" title={place ? t("You have no role in {placeWords}, or it does not exist", { placeWords: placeWords(place) }) : t("You have no role in this installation yet")}>
        <p>{askWords(me, everywhere)}</p>
        <AskWhom permission="run.view" place={place ?? everywhere} />
      </Notice>
    </div>
  );
}
