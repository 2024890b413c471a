import { ConnectorInsightService, type Connector } from "@gen/flytebinary/insight/v1/connectors_pb.js";
import { Link } from "@tanstack/react-router";
import { CircleCheck, CircleX } from "lucide-react";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { Button } from "@/design/button";
import { count, dateOf } from "@/design/format";
import { Note, Table } from "@/design/table";
import { When } from "@/design/time";
import { t } from "@/texts/texts";
import { every } from "./use-system";
import css from "./system.module.css";

/** The connectors, which run tasks in other systems. Nothing if there are none. */
export function Connectors() {
  const { answer, rows } = usePages(
    ["connectors"],
    (token, signal) => client(ConnectorInsightService).listConnectors({ token }, { signal }),
    (page) => page.connectors,
    { refresh: every, refreshAll: true },
  );
  if (rows.length === 0) return null;
  return (
    <section className={css["section"]} aria-labelledby="connectors" data-testid="connectors">
      <h2 id="connectors">{t("Connectors")}</h2>
      <Table
        label={t("Connectors")}
        scroll="group"
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          {
            label: t("Connector"),
            cell: (one) => <Name of={one} />,
          },
          { label: t("Task types"), cell: (one) => <TaskTypes of={one} /> },
          { label: t("Health"), cell: (one) => <Health of={one} /> },
          {
            label: t("Jobs"),
            cell: ({ jobs, maxJobs, deleting }) => (
              <>
                {count(jobs)}
                {maxJobs > 0n && ` ${t("of {maxJobs}", { maxJobs: count(maxJobs) })}`}
                {deleting > 0n && <Note>{t("{deleting} to be deleted", { deleting: count(deleting) })}</Note>}
              </>
            ),
          },
          { label: t("Waiting"), cell: ({ waiting }) => count(waiting) },
          { label: t("Last error"), cell: ({ lastError }) => lastError || "–" },
        ]}
      />
      {answer.hasNextPage && (
        <Button small onClick={() => void answer.fetchNextPage()}>
          {t("More connectors")}
        </Button>
      )}
    </section>
  );
}

function Name({ of: { name, url, app, project, domain } }: { readonly of: Connector }) {
  const [ownProject, ownDomain, appName] = app.split("/");
  if (!ownProject || !ownDomain || !appName) {
    return (
      <>
        {name}
        <Note>
          <code>{url}</code>
        </Note>
      </>
    );
  }
  return (
    <>
      <Link to="/domain/$domain/project/$project/apps/$app" params={{ project: ownProject, domain: ownDomain, app: appName }}>
        {appName}
      </Link>
      <Note>
        {t("app of {ownProject}, {ownDomain}", { ownProject, ownDomain })}
      </Note>
      {project === "" && domain === "" && <Note>{t("for all projects")}</Note>}
    </>
  );
}

function TaskTypes({ of: { taskTypes, types } }: { readonly of: Connector }) {
  if (types === 0) return <>–</>;
  const rest = types - taskTypes.length;
  return (
    <>
      {taskTypes.map((name, i) => (
        <span key={name}>
          {i > 0 && ", "}
          <code>{name}</code>
        </span>
      ))}
      {rest > 0 && ` ${t("and {count} more", { count: count(rest) })}`}
    </>
  );
}

function Health({ of: { answeredAt, problem, asleep } }: { readonly of: Connector }) {
  if (problem === "" && answeredAt && asleep) {
    return (
      <>
        {t("Asleep{note}", { note: <Note>{t("a task wakes it")}</Note> })}
      </>
    );
  }
  if (problem === "" && answeredAt) {
    return (
      <span className={css["good"]}>
        <CircleCheck size={14} aria-hidden /> {t("Answers")}
      </span>
    );
  }
  return (
    <>
      <span className={css["bad"]}>
        <CircleX size={14} aria-hidden /> {t("Does not answer")}
      </span>
      {problem && <Note>{problem}</Note>}
      {answeredAt ? (
        <Note>
          {t("last answer {when}", { when: <When at={dateOf(answeredAt)} relative /> })}
        </Note>
      ) : (
        <Note>{t("it never answered")}</Note>
      )}
    </>
  );
}
