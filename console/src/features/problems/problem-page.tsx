import { useQuery } from "@connectrpc/connect-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { ProblemService, type GetProblemResponse, type Problem, type ProblemFailure } from "@gen/flytebinary/insight/v1/problems_pb.js";
import type { Place } from "@/app/place";
import { useTitle } from "@/app/title";
import { Facts } from "@/design/facts";
import { count, dateOf } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { Table, type Column } from "@/design/table";
import { When } from "@/design/time";
import { FailingInputs } from "@/features/action/summary/inputs";
import { Traceback } from "@/features/action/summary/traceback";
import page from "@/design/page.module.css";
import { t, tn } from "@/texts/texts";

/** A problem: its latest traceback with the inputs, and the failures. */
export function ProblemPage() {
  const { project = "", domain = "", problem = "" } = useParams({ strict: false });
  const place = { project, domain };
  const number = /^\d{1,18}$/.test(problem);
  const { data, error, isLoading, refetch } = useQuery(
    ProblemService.method.getProblem,
    { projectId: { name: project, domain }, id: number ? BigInt(problem) : 0n },
    { refetchInterval: 10_000, enabled: number },
  );
  useTitle(data?.problem?.code ?? t("Problem"), `${project} / ${domain}`);
  return (
    <div className={page["page"]}>
      {error && (
        <ProblemNotice error={error} retry={() => void refetch()}>
          <Link to="/domain/$domain/project/$project/problems" params={place}>
            {t("All problems")}
          </Link>
        </ProblemNotice>
      )}
      {!number && (
        <Empty title={t("There is no problem {problem}", { problem })}>
          <Link to="/domain/$domain/project/$project/problems" params={place}>
            {t("All problems")}
          </Link>
        </Empty>
      )}
      {isLoading && <Loading what={t("problem")} />}
      {data?.problem && <Found place={place} answer={data} problem={data.problem} />}
    </div>
  );
}

function Found({ place, answer, problem }: { readonly place: Place; readonly answer: GetProblemResponse; readonly problem: Problem }) {
  const navigate = useNavigate();
  const latest = answer.latest[0]?.actionId;
  const action = latest?.run && { run: { ...place, name: latest.run.name, tracked: false }, name: latest.name };
  return (
    <>
      <div className={page["head"]}>
        <h1>{problem.code}</h1>
      </div>
      <p>{problem.message}</p>
      <Facts facts={facts(place, answer, problem)} />
      {action && (
        <section className={page["section"]}>
          <h2>{t("Latest failure")}</h2>
          <FailingInputs action={action} />
          <Traceback
            action={action}
            attempt={0}
            onLog={(line) =>
              void navigate({
                to: "/domain/$domain/project/$project/runs/$run",
                params: { ...place, run: action.run.name },
                search: { action: action.name, tab: "logs", ...(line !== undefined && { line }) },
              })
            }
          />
        </section>
      )}
      <section className={page["section"]}>
        <h2>{t("Failures")}</h2>
        {answer.latest.length === 0 ? (
          <Empty title={t("Retention has deleted the failures")} />
        ) : (
          <Table
            label={t("Failures")}
            columns={columns(place)}
            rows={answer.latest}
            keyOf={({ actionId: id }) => `${id?.run?.name ?? ""}/${id?.name ?? ""}`}
            attributesOf={({ actionId: id }) => ({ "data-testid": "failure-row", "data-run": id?.run?.name })}
          />
        )}
        {problem.failures > answer.latest.length && <p>{t("The latest {latest} failures are shown.", { latest: answer.latest.length })}</p>}
      </section>
    </>
  );
}

function facts(place: Place, { lastSuccess }: GetProblemResponse, problem: Problem) {
  const success = lastSuccess?.runId?.name;
  return [
    [t("Failures"), tn(Number(problem.runs), "{failures} in {n} run", "{failures} in {n} runs", { failures: count(problem.failures) })],
    [t("First seen"), <When key="first" at={dateOf(problem.firstSeen)} />],
    [t("Last seen"), <When key="last" at={dateOf(problem.lastSeen)} />],
    [t("Where"), problem.file === "" ? t("No traceback in the log") : <code key="where">{`${problem.file}:${problem.function}`}</code>],
    [
      t("Tasks"),
      <span key="tasks" className={page["inline"]}>
        {problem.tasks.map((task) => (
          <Link key={task} to="/domain/$domain/project/$project/tasks/$task" params={{ ...place, task }}>
            {task}
          </Link>
        ))}
      </span>,
    ],
    [
      t("Last success"),
      success === undefined ? (
        t("No run of this task has succeeded")
      ) : (
        <span key="success">
          <Link to="/domain/$domain/project/$project/runs/$run" params={{ ...place, run: success }}>
            {success}
          </Link>{" "}
          <When at={dateOf(lastSuccess?.endedAt)} relative />
          {" · "}
          <Link to="/domain/$domain/project/$project/compare" params={place} search={{ a: success, b: problem.latest?.run?.name ?? "" }}>
            {t("Compare with the latest failure")}
          </Link>
        </span>
      ),
    ],
  ] as const;
}

const columns = (place: Place): readonly Column<ProblemFailure>[] => [
  {
    label: t("Action"),
    cell: ({ actionId: id, task }) => (
      <Link
        to="/domain/$domain/project/$project/runs/$run"
        params={{ ...place, run: id?.run?.name ?? "" }}
        search={{ action: id?.name ?? "" }}
      >
        {task} <code>{id?.name}</code>
      </Link>
    ),
  },
  {
    label: t("Run"),
    cell: ({ actionId: id }) => (
      <Link to="/domain/$domain/project/$project/runs/$run" params={{ ...place, run: id?.run?.name ?? "" }}>
        {id?.run?.name}
      </Link>
    ),
  },
  { label: t("Failed"), cell: ({ failedAt }) => <When at={dateOf(failedAt)} /> },
];
