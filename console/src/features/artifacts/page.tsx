import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useDeferredValue } from "react";
import { ArtifactService, type ArtifactGroup } from "@gen/flyteidl2/artifact/artifact_service_pb.js";
import { Filter_Function } from "@gen/flyteidl2/common/list_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import type { Place } from "@/app/place";
import { useTitle } from "@/app/title";
import { dateOf } from "@/design/format";
import { ListPage, SearchBox } from "@/design/list-page";
import { Empty } from "@/design/notice";
import { Note, type Column } from "@/design/table";
import { When } from "@/design/time";
import { firstArtifact } from "@/entities/project/first-commands";
import { t } from "@/texts/texts";
import type { ArtifactsSearch } from "./search";
import { kindOf, partitionWords } from "./words";
import css from "./artifacts.module.css";

/** The artifacts of a project's domain, latest version first. */
export function ArtifactsPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const search: ArtifactsSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  useTitle(t("Artifacts"), `${project} / ${domain}`);
  const q = useDeferredValue(search.q ?? "");
  const { answer, rows } = usePages(
    ["artifacts", project, domain, q],
    (token, signal) =>
      client(ArtifactService).listArtifactNames(
        {
          request: { limit: 100, token, filters: q === "" ? [] : [{ function: Filter_Function.CONTAINS_CASE_INSENSITIVE, field: "name", values: [q] }] },
          projectId: { organization: "flyte", name: project, domain },
        },
        { signal },
      ),
    (page) => page.groups,
    { keep: true, refresh: 10_000 },
  );
  const find = (text: string) =>
    void navigate({
      to: "/domain/$domain/project/$project/artifacts",
      params: { domain, project },
      search: text === "" ? {} : { q: text },
      replace: true,
    });
  return (
    <ListPage
      title={t("Artifacts")}
      what={t("artifacts")}
      label={t("Artifacts")}
      head={<SearchBox what={t("artifacts")} value={search.q ?? ""} onChange={find} />}
      empty={
        q === "" ? (
          <Empty title={t("No artifacts yet")} command={firstArtifact({ project, domain })} />
        ) : (
          <Empty title={t("No artifacts match “{query}”", { query: q })} />
        )
      }
      answer={answer}
      rows={rows}
      columns={columns({ project, domain })}
      keyOf={nameOf}
      attributesOf={(group) => ({ "data-testid": "artifact-row", "data-name": nameOf(group) })}
    />
  );
}

const nameOf = ({ latest }: ArtifactGroup): string => latest?.artifactId?.name?.name ?? "";

const columns = (place: Place): readonly Column<ArtifactGroup>[] => [
  {
    label: t("Artifact"),
    cell: (group) => (
      <>
        <Link to="/domain/$domain/project/$project/artifacts/$artifact" params={{ ...place, artifact: nameOf(group) }}>
          {nameOf(group)}
        </Link>
        {group.latest?.spec?.info?.description && <Note>{group.latest.spec.info.description}</Note>}
      </>
    ),
  },
  { label: t("Kind"), cell: ({ latest }) => kindOf(latest) || "–" },
  { label: t("Versions"), cell: ({ versions }) => versions.toString() },
  { label: t("Latest version"), cell: ({ latest }) => <span className={css["version"]}>{latest?.artifactId?.version}</span> },
  { label: t("Partitions"), cell: ({ latest }) => partitionWords(latest?.spec) },
  { label: t("Created"), cell: ({ latest }) => <When at={dateOf(latest?.createdAt)} relative /> },
];
