import { Link } from "@tanstack/react-router";
import { useQuery } from "@connectrpc/connect-query";
import { InsightService, type ClusterUse } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { count } from "@/design/format";
import { Loading, ProblemNotice } from "@/design/notice";
import { Note, Table, type Column } from "@/design/table";
import { t } from "@/texts/texts";
import { askedWords, every } from "./words";
import css from "@/design/page.module.css";

const most = 10;

/** The projects and the runs that ask for most on a cluster. */
export function Use({ cluster }: { readonly cluster: string }) {
  const { data, error, refetch } = useQuery(InsightService.method.getClusterUse, { cluster, limit: most }, { refetchInterval: every });
  if (error) return <ProblemNotice error={error} retry={() => void refetch()} />;
  if (!data) return <Loading what={t("use")} />;
  if (data.totalRuns === 0) return <p className={css["muted"]}>{t("No runs that you may see have actions here.")}</p>;
  return (
    <>
      <h3>{t("Projects that ask for most")}</h3>
      <Table label={t("Projects")} rows={data.projects} keyOf={({ project, domain }) => `${project}/${domain}`} columns={[project, ...columns]} />
      <More shown={data.projects.length} total={data.totalProjects} what={t("projects")} />
      <h3>{t("Runs that ask for most")}</h3>
      <Table label={t("Runs")} rows={data.runs} keyOf={({ project, domain, run }) => `${project}/${domain}/${run}`} columns={[run, ...columns]} />
      <More shown={data.runs.length} total={data.totalRuns} what={t("runs")} />
    </>
  );
}

function More({ shown, total, what }: { readonly shown: number; readonly total: number; readonly what: string }) {
  if (total <= shown) return null;
  return (
    <p className={css["muted"]}>
      {t("{total} more {what}", { total: count(total - shown), what })}
    </p>
  );
}

const project: Column<ClusterUse> = {
  label: t("Project"),
  cell: ({ project, domain }) => (
    <Link to="/domain/$domain/project/$project/runs" params={{ project, domain }}>
      {project} / {domain}
    </Link>
  ),
  wrap: true,
};

const run: Column<ClusterUse> = {
  label: t("Run"),
  cell: ({ project, domain, run }) => (
    <>
      <Link to="/domain/$domain/project/$project/runs/$run" params={{ project, domain, run }}>
        {run}
      </Link>
      <Note>
        {project} / {domain}
      </Note>
    </>
  ),
  wrap: true,
};

const columns: readonly Column<ClusterUse>[] = [
  { label: t("Asks for"), cell: ({ asked }) => askedWords(asked) || "nothing", wrap: true },
  { label: t("Running"), number: true, cell: ({ actions, pending }) => count(actions - pending) },
  { label: t("Waiting"), number: true, cell: ({ pending }) => count(pending) },
];
