import { ConnectorInsightService, type Connector } from "@gen/flytebinary/insight/v1/connectors_pb.js";
import { Link } from "@tanstack/react-router";
import { CircleCheck, CircleX } from "lucide-react";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { Button } from "@/design/button";
import { count, dateOf } from "@/design/format";
import { Note, Table } from "@/design/table";
import { When } from "@/design/time";
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
      <h2 id="connectors">Connectors</h2>
      <Table
        label="Connectors"
        scroll="group"
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          {
            label: "Connector",
            cell: (one) => <Name of={one} />,
          },
          { label: "Task types", cell: (one) => <TaskTypes of={one} /> },
          { label: "Health", cell: (one) => <Health of={one} /> },
          {
            label: "Jobs",
            cell: ({ jobs, maxJobs, deleting }) => (
              <>
                {count(jobs)}
                {maxJobs > 0n && ` of ${count(maxJobs)}`}
                {deleting > 0n && <Note>{count(deleting)} to be deleted</Note>}
              </>
            ),
          },
          { label: "Waiting", cell: ({ waiting }) => count(waiting) },
          { label: "Last error", cell: ({ lastError }) => lastError || "–" },
        ]}
      />
      {answer.hasNextPage && (
        <Button small onClick={() => void answer.fetchNextPage()}>
          More connectors
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
        app of {ownProject}, {ownDomain}
      </Note>
      {project === "" && domain === "" && <Note>for all projects</Note>}
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
      {rest > 0 && ` and ${count(rest)} more`}
    </>
  );
}

function Health({ of: { answeredAt, problem, asleep } }: { readonly of: Connector }) {
  if (problem === "" && answeredAt && asleep) {
    return (
      <>
        Asleep
        <Note>a task wakes it</Note>
      </>
    );
  }
  if (problem === "" && answeredAt) {
    return (
      <span className={css["good"]}>
        <CircleCheck size={14} aria-hidden /> Answers
      </span>
    );
  }
  return (
    <>
      <span className={css["bad"]}>
        <CircleX size={14} aria-hidden /> Does not answer
      </span>
      {problem && <Note>{problem}</Note>}
      {answeredAt ? (
        <Note>
          last answer <When at={dateOf(answeredAt)} relative />
        </Note>
      ) : (
        <Note>it never answered</Note>
      )}
    </>
  );
}
