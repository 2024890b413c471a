import { useQuery } from "@connectrpc/connect-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import type { Artifact } from "@gen/flyteidl2/artifact/artifact_pb.js";
import { ArtifactService } from "@gen/flyteidl2/artifact/artifact_service_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import type { Place } from "@/app/place";
import { useTitle } from "@/app/title";
import { CopyButton } from "@/design/copy";
import { Facts } from "@/design/facts";
import { dateOf } from "@/design/format";
import { DataTable } from "@/design/data-table";
import { Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import { whoIs } from "@/entities/person/who-is";
import { StoredFiles } from "@/entities/data/stored-files";
import { valueOf } from "@/entities/value/value";
import { ValueView } from "@/entities/value/value-view";
import { Consumers } from "@/features/apps/consumers";
import { t } from "@/texts/texts";
import { Lineage } from "./lineage";
import type { ArtifactSearch } from "./search";
import { kindOf, partitionsOf, partitionWords, placeOfValue } from "./words";
import page from "@/design/page.module.css";
import css from "./artifacts.module.css";

/** An artifact: one version with its lineage, and all versions. */
export function ArtifactPage() {
  const { project = "", domain = "", artifact = "" } = useParams({ strict: false });
  const search: ArtifactSearch = useSearch({ strict: false });
  useTitle(artifact, t("Artifacts"));
  const place = { project, domain };
  const answer = useQuery(ArtifactService.method.getArtifact, {
    name: { project, domain, name: artifact },
    ...(search.version !== undefined && { version: search.version }),
  });
  const found = answer.data?.artifact;
  const version = found?.artifactId?.version ?? "";
  return (
    <div className={page["page"]}>
      <div className={page["head"]}>
        <h1>{artifact}</h1>
        <CopyButton text={artifact} label={t("Copy artifact name")} />
      </div>
      {answer.error && (
        <ProblemNotice error={answer.error} retry={() => void answer.refetch()}>
          <Link to="/domain/$domain/project/$project/artifacts" params={place}>
            {t("Artifacts of {project} / {domain}", { project, domain })}
          </Link>
        </ProblemNotice>
      )}
      {answer.isLoading && <Loading what={t("artifact")} />}
      {found && (
        <>
          <section className={page["section"]} aria-label={t("Version")}>
            <Details artifact={found} newest={search.version === undefined} />
          </section>
          <section className={page["section"]}>
            <h2>{t("Lineage")}</h2>
            <Lineage key={version} place={place} name={artifact} version={version} />
          </section>
          <section className={page["section"]}>
            <h2>{t("Apps")}</h2>
            <Consumers place={place} name={artifact} version={version} />
          </section>
        </>
      )}
      {(found || search.version !== undefined) && (
        <section className={page["section"]}>
          <h2>{t("Versions")}</h2>
          <Versions place={place} name={artifact} chosen={version} />
        </section>
      )}
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
          {t("The partitions do not match: {message}.", { message: partitionSchemaMismatch.message })}
        </p>
      )}
      <Facts
        facts={[
          [
            t("Version"),
            <span key="version" className={css["version"]}>
              {artifactId?.version}
              {newest && ` ${t("(latest)")}`} <CopyButton text={artifactId?.version ?? ""} label={t("Copy version")} />
            </span>,
          ],
          [t("Description"), spec?.info?.description],
          [t("Kind"), kindOf(artifact)],
          ...partitionsOf(spec),
          [t("Created"), <When key="created" at={dateOf(createdAt)} />],
          [t("Created by"), whoIs(createdBy)],
          [
            t("Created by"),
            action?.run && (
              <Link
                to="/domain/$domain/project/$project/runs/$run"
                params={{ domain: action.run.domain, project: action.run.project, run: action.run.name }}
                search={{ action: action.name }}
              >
                {t("run {run}, action {action}", { run: action.run.name, action: action.name })}
              </Link>
            ),
          ],
          [t("From outside"), source?.case === "externalRef" ? source.value : ""],
          [t("Location"), uri && !action?.run && <code className={css["version"]}>{uri}</code>],
          ...metadata,
        ]}
      />
      {action?.run && spec?.value && (
        // The data are read as what that action returned.
        <StoredFiles
          action={{ run: { project: action.run.project, domain: action.run.domain, name: action.run.name }, name: action.name }}
          values={[valueOf(spec.value)]}
          version={artifactId?.version ?? ""}
        >
          <div className={css["data"]} role="group" aria-label={t("Data")}>
            <ValueView value={valueOf(spec.value)} />
          </div>
        </StoredFiles>
      )}
    </>
  );
}

function Versions({ place, name, chosen }: { readonly place: Place; readonly name: string; readonly chosen: string }) {
  const { project, domain } = place;
  const { answer, rows } = usePages(
    ["artifact-versions", project, domain, name],
    (token, signal) =>
      client(ArtifactService).listArtifacts({ request: { limit: 100, token }, projectId: { organization: "flyte", name: project, domain }, name }, { signal }),
    (page) => page.artifacts,
  );
  return (
    <DataTable
      what={t("versions")}
      label={t("Versions")}
      answer={answer}
      rows={rows}
      keyOf={versionOf}
      attributesOf={(artifact) => (versionOf(artifact) === chosen ? { "aria-current": true } : {})}
      columns={[
        {
          label: t("Version"),
          cell: (artifact) => (
            <Link
              to="/domain/$domain/project/$project/artifacts/$artifact"
              params={{ ...place, artifact: name }}
              search={{ version: versionOf(artifact) }}
              className={css["version"]}
            >
              {versionOf(artifact)}
            </Link>
          ),
        },
        { label: t("Partitions"), cell: ({ spec }) => partitionWords(spec) },
        { label: t("Created"), cell: ({ createdAt }) => <When at={dateOf(createdAt)} /> },
        {
          label: t("Created by"),
          cell: ({ spec, createdBy }) => {
            const source = spec?.source?.source;
            const run = source?.case === "taskAction" ? source.value.action?.run : undefined;
            if (!run) return whoIs(createdBy);
            return (
              <Link to="/domain/$domain/project/$project/runs/$run" params={{ domain: run.domain, project: run.project, run: run.name }}>
                {run.name}
              </Link>
            );
          },
        },
      ]}
    />
  );
}

const versionOf = ({ artifactId }: Artifact): string => artifactId?.version ?? "";
