import type { Place } from "@/app/place";
import { Empty, Loading } from "@/design/notice";
import { shellWord } from "@/entities/action/copy-as";
import { UnknownPlace, type PlaceCheck } from "@/entities/project/unknown-place";

/** Why a place has no runs at all: it does not exist, or nothing ran yet. */
export function NoRuns({ place: { project, domain }, check }: { readonly place: Place; readonly check: PlaceCheck }) {
  if (check.checking) return <Loading what="project" />;
  if (check.unknown !== undefined) return <UnknownPlace title={check.unknown} />;
  return (
    <Empty title="No runs yet" command={`flyte run -p ${shellWord(project)} -d ${shellWord(domain)} hello.py main`}>
      <p>New runs appear here immediately.</p>
    </Empty>
  );
}
