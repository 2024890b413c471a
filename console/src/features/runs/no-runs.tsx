import type { Place } from "@/app/place";
import { Empty, Loading } from "@/design/notice";
import { firstRun } from "@/entities/project/first-commands";
import { UnknownPlace, type PlaceCheck } from "@/entities/project/unknown-place";
import { t } from "@/texts/texts";

/** Why a place has no runs at all: it does not exist, or nothing ran yet. */
export function NoRuns({ place, check }: { readonly place: Place; readonly check: PlaceCheck }) {
  if (check.checking) return <Loading what={t("project")} />;
  if (check.unknown !== undefined) return <UnknownPlace title={check.unknown} />;
  return (
    <Empty title={t("No runs yet")} command={firstRun(place)}>
      <p>{t("New runs appear here immediately.")}</p>
    </Empty>
  );
}
