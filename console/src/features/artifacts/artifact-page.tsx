import { useQuery } from "@connectrpc/connect-query";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import type { Artifact } from "@gen/flyteidl2/artifact/artifact_pb.js";
import { ArtifactService } from "@gen/flyteidl2/artifact/artifact_service_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import { CopyButton } from "@/design/copy";
import { Facts } from "@/design/facts";
import { dateOf } from "@/design/format";
import { Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import { whoIs } from "@/entities/person/who-is";
import { Consumers } from "@/features/apps/consumers";
import { Lineage } from "./lineage";
import type { ArtifactSearch } from "./search";
import { kindOf, partitionsOf, placeOfValue } from "./words";
import css from "./artifacts.module.css";

/** An artifact: one version with its lineage, and all versions. */
export function ArtifactPage() {
  const { project = "", domain = "", artifact = "" } = useParams({ strict: false });
  const search: ArtifactSearch = useSearch({ strict: false });
  useTitle(artifact, "Artifacts");
  const place = { project, domain };
  const answer = useQuery(ArtifactService.method.getArtifact, {
    name: { project, domain, name: artifact },
    ...(search.version !== undefined && { version: search.version }),
  });
  const found = answer.data?.artifact;
  const version = found?.artifactId?.version ?? "";
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1>{artifact}</h1>
        <CopyButton text={artifact} label="Copy artifact name" />
      </div>
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what="artifact" />}
      {found && (
        <>
          <section className={css["section"]} aria-label="Version">
            <Details artifact={found} newest={search.version === undefined} />
          </section>
          <section className={css["section"]}>
            <h2>Lineage</h2>
            <Lineage key={version} place={place} name={artifact} version={version} />
          </section>
          <section className={css["section"]}>
            <h2>Apps</h2>
            <Consumers place={place} name={artifact} version={version} />
          </section>
        </>
      )}
      <section className={css["section"]}>
        <h2>Versions</h2>
        <Versions place={place} name={artifact} chosen={version} />
      </section>
    </div>
  );
}

function Details({ artifact, newest }: { readonly artifact: Artifact; readonly newest: boolean }) {
  const { artifactId, spec, createdAt, createdBy, partitionSchemaMismatch } = artifact;
  const source = spec?.source?.source;
  const action = source?.case === "taskAction" ? source.value.action : undefined;
  const uri = placeOfValue(spec?.value);
  const metadata = Object.entries(spec?.info?.userMetadata ?? {}).sort(([a], [b]) => a.localeCompare(b));
  return (
    <>
      {partitionSchemaMismatch && (
        <p role="note" className={css["mismatch"]}>
          The partitions do not match: {partitionSchemaMismatch.message}.
        </p>
      )}
      <Facts
        facts={[
          [
            "Version",
            <span key="version" className={css["version"]}>
              {artifactId?.version}
              {newest && " (latest)"} <CopyButton text={artifactId?.version ?? ""} label="Copy version" />
            </span>,
          ],
          ["Description", spec?.info?.description],
          ["Kind", kindOf(artifact)],
          ...partitionsOf(spec),
          ["Created", <When key="created" at={dateOf(createdAt)} />],
          ["Created by", whoIs(createdBy)],
          [
            "Made by",
            action?.run && (
              <Link
                to="/domain/$domain/project/$project/runs/$run"
                params={{ domain: action.run.domain, project: action.run.project, run: action.run.name }}
                search={{ action: action.name }}
              >
                run {action.run.name}, action {action.name}
              </Link>
            ),
          ],
          ["From outside", source?.case === "externalRef" ? source.value : ""],
          ["Data", uri && <code className={css["version"]}>{uri}</code>],
          ...metadata,
        ]}
      />
    </>
  );
}

function Versions({ place: { project, domain }, name, chosen }: { readonly place: Place; readonly name: string; readonly chosen: string }) {
  const answer = useInfiniteQuery({
    queryKey: ["artifact-versions", project, domain, name],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) =>
      client(ArtifactService).listArtifacts(
        { request: { limit: 100, token: pageParam }, projectId: { organization: "flyte", name: project, domain }, name },
        { signal },
      ),
    getNextPageParam: (page) => page.token || undefined,
  });
  if (answer.error) return <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />;
  if (!answer.data) return <Loading what="versions" />;
  const versions = answer.data.pages.flatMap((page) => page.artifacts);
  return (
    <>
      <table className={css["table"]} aria-label="Versions">
        <thead>
          <tr>
            <th scope="col">Version</th>
            <th scope="col">Partitions</th>
            <th scope="col">Created</th>
            <th scope="col">Made by</th>
          </tr>
        </thead>
        <tbody>
          {versions.map(({ artifactId, spec, createdAt, createdBy }) => {
            const version = artifactId?.version ?? "";
            const source = spec?.source?.source;
            const run = source?.case === "taskAction" ? source.value.action?.run : undefined;
            return (
              <tr key={version} aria-current={version === chosen ? "true" : undefined}>
                <th scope="row">
                  <Link
                    to="/domain/$domain/project/$project/artifacts/$artifact"
                    params={{ domain, project, artifact: name }}
                    search={{ version }}
                    className={css["version"]}
                  >
                    {version}
                  </Link>
                </th>
                <td>
                  {partitionsOf(spec)
                    .map(([key, value]) => `${key}=${value}`)
                    .join(", ")}
                </td>
                <td>
                  <When at={dateOf(createdAt)} />
                </td>
                <td>
                  {run ? (
                    <Link to="/domain/$domain/project/$project/runs/$run" params={{ domain: run.domain, project: run.project, run: run.name }}>
                      {run.name}
                    </Link>
                  ) : (
                    whoIs(createdBy)
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {answer.hasNextPage && (
        <div>
          <Button onClick={() => void answer.fetchNextPage()}>More versions</Button>
        </div>
      )}
    </>
  );
}
