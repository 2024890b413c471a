import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useDeferredValue } from "react";
import { ArtifactService, type ArtifactGroup } from "@gen/flyteidl2/artifact/artifact_service_pb.js";
import { Filter_Function } from "@gen/flyteidl2/common/list_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import { Input } from "@/design/field";
import { dateOf } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import type { ArtifactsSearch } from "./search";
import { kindOf, partitionsOf } from "./words";
import css from "./artifacts.module.css";

/** The artifacts of a project's domain, latest version first. */
export function ArtifactsPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const search: ArtifactsSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  useTitle("Artifacts", `${project} / ${domain}`);
  const q = useDeferredValue(search.q ?? "");
  const answer = useInfiniteQuery({
    queryKey: ["artifacts", project, domain, q],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      client(ArtifactService).listArtifactNames(
        {
          request: {
            limit: 100,
            token: pageParam,
            filters: q === "" ? [] : [{ function: Filter_Function.CONTAINS_CASE_INSENSITIVE, field: "name", values: [q] }],
          },
          projectId: { organization: "flyte", name: project, domain },
        },
        { signal },
      ),
    getNextPageParam: (page) => page.token || undefined,
    placeholderData: keepPreviousData,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) === 1 ? 10_000 : false),
  });
  const groups = answer.data?.pages.flatMap((page) => page.groups) ?? [];
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1>Artifacts</h1>
        <Input
          type="search"
          data-filter
          className={css["search"]}
          aria-label="Find artifacts"
          placeholder="Find artifacts by name"
          autoComplete="off"
          value={search.q ?? ""}
          onChange={(event) =>
            void navigate({
              to: "/domain/$domain/project/$project/artifacts",
              params: { domain, project },
              search: event.target.value === "" ? {} : { q: event.target.value },
              replace: true,
            })
          }
        />
      </div>
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what="artifacts" />}
      {answer.isSuccess &&
        groups.length === 0 &&
        (q === "" ? (
          <Empty title="No artifacts yet" command={`flyte create artifact -p ${project} -d ${domain} my-data --from-file data.csv`} />
        ) : (
          <Empty title={`No artifacts match “${q}”`} />
        ))}
      {groups.length > 0 && (
        <table className={css["table"]} aria-label="Artifacts">
          <thead>
            <tr>
              <th scope="col">Artifact</th>
              <th scope="col">Kind</th>
              <th scope="col">Versions</th>
              <th scope="col">Latest version</th>
              <th scope="col">Partitions</th>
              <th scope="col">Created</th>
            </tr>
          </thead>
          <tbody>
            {groups.map((group) => (
              <Row key={group.latest?.artifactId?.name?.name ?? ""} group={group} place={{ project, domain }} />
            ))}
          </tbody>
        </table>
      )}
      {answer.hasNextPage && (
        <div>
          <Button disabled={answer.isFetchingNextPage} onClick={() => void answer.fetchNextPage()}>
            {answer.isFetchingNextPage ? "Loading …" : "More artifacts"}
          </Button>
        </div>
      )}
    </div>
  );
}

function Row({ group: { latest, versions }, place: { project, domain } }: { readonly group: ArtifactGroup; readonly place: Place }) {
  const name = latest?.artifactId?.name?.name ?? "";
  return (
    <tr data-testid="artifact-row" data-name={name}>
      <th scope="row">
        <Link to="/domain/$domain/project/$project/artifacts/$artifact" params={{ domain, project, artifact: name }}>
          {name}
        </Link>
        {latest?.spec?.info?.description && <span className={css["note"]}>{latest.spec.info.description}</span>}
      </th>
      <td>{kindOf(latest)}</td>
      <td>{versions.toString()}</td>
      <td className={css["version"]}>{latest?.artifactId?.version}</td>
      <td>
        {partitionsOf(latest?.spec)
          .map(([key, value]) => `${key}=${value}`)
          .join(", ")}
      </td>
      <td>
        <When at={dateOf(latest?.createdAt)} relative />
      </td>
    </tr>
  );
}
