import type { Place } from "@/app/place";
import { Empty, Loading } from "@/design/notice";
import { shellWord } from "@/entities/action/copy-as";
import { UnknownPlace, type PlaceCheck } from "@/entities/project/unknown-place";
import { t } from "@/texts/texts";

/** Why a place has no runs at all: it does not exist, or nothing ran yet. */
export function NoRuns({ place: { project, domain }, check }: { readonly place: Place; readonly check: PlaceCheck }) {
  if (check.checking) return <Loading what={t("project")} />;
  if (check.unknown !== undefined) return <UnknownPlace title={check.unknown} />;
  return (
    <Empty title={t("No runs yet")} command={`flyte run -p ${shellWord(project)} -d ${shellWord(domain)} hello.py main`}>
      <p>{t("New runs appear here immediately.")}</p>
    </Empty>
  );
}
