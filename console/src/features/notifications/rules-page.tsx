import { useMutation, useQuery } from "@connectrpc/connect-query";
import { Link, useParams } from "@tanstack/react-router";
import { DeliveryState, NotificationService, type Delivery, type NotificationRule, type RuleReceiver, type TestResult } from "@gen/flytebinary/insight/v1/notifications_pb.js";
import { useTitle } from "@/app/title";
import { Button, buttonClass } from "@/design/button";
import { dateOf } from "@/design/format";
import { ListPage } from "@/design/list-page";
import { Empty, ProblemNotice } from "@/design/notice";
import { Phase } from "@/design/phase";
import { Note } from "@/design/table";
import { When } from "@/design/time";
import { useDenied } from "@/entities/access/use-denied";
import { t } from "@/texts/texts";
import { receiverOf, stateLabel } from "./words";
import css from "./notifications.module.css";

/** How often the list is read again, in milliseconds. */
const every = 10_000;

/** The rules of the configuration that apply in a domain of a project: what each sends where, how that went last, and a test. */
export function RulesPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const answer = useQuery(NotificationService.method.listRules, { projectId: { name: project, domain } }, { refetchInterval: every });
  useTitle(t("Notification rules"), `${project} / ${domain}`);
  return (
    <ListPage
      title={t("Notification rules")}
      what={t("notification rules")}
      more={t("More")}
      label={t("Notification rules")}
      head={
        <nav className={css["filter"]} aria-label={t("Notifications")}>
          <Link to="/notifications" className={buttonClass("plain", true)}>
            {t("Deliveries")}
          </Link>
        </nav>
      }
      answer={answer}
      rows={answer.data?.rules ?? []}
      keyOf={({ name }) => name}
      attributesOf={({ name }) => ({ "data-testid": "rule", "data-name": name })}
      empty={
        <Empty title={t("No notification rules for {project} / {domain}", { project, domain })}>
          <p>
            {t("Rules are in the server's configuration, in {code}. A run can also bring its own; those are on the page of the run.", {
              code: <code>notifications.rules</code>,
            })}
          </p>
        </Empty>
      }
      columns={[
        {
          label: t("Rule"),
          wrap: true,
          cell: ({ name, everywhere }) => (
            <>
              {name}
              <Note>{everywhere ? t("All runs") : t("Runs that ask for it")}</Note>
            </>
          ),
        },
        {
          label: t("Reported phases"),
          wrap: true,
          cell: ({ phases }) => (
            <span className={css["phases"]}>
              {phases.map((phase) => (
                <Phase key={phase} phase={phase} />
              ))}
            </span>
          ),
        },
        {
          label: t("Receivers and their last delivery"),
          wrap: true,
          cell: ({ receivers }) => receivers.map((receiver) => <Receiver key={receiver.deliveryConfigName} receiver={receiver} />),
        },
        { label: t("Test"), hideLabel: true, wrap: true, cell: (rule) => <Test rule={rule} project={project} domain={domain} /> },
      ]}
    />
  );
}

function Receiver({ receiver: { deliveryConfigName, kind, targets, last } }: { readonly receiver: RuleReceiver }) {
  return (
    <div className={css["receiver"]}>
      {receiverOf({ kind, target: targets.join(", "), deliveryConfigName, rule: "" })}
      <Note>{last ? <Last last={last} /> : t("Has not fired here, or longer ago than deliveries are kept.")}</Note>
    </div>
  );
}

function Last({ last: { state, runId, createdAt, lastError } }: { readonly last: Delivery }) {
  const when = <When at={dateOf(createdAt)} relative />;
  return (
    <>
      <span className={css["state"]} data-state={DeliveryState[state]}>
        {stateLabel(state)}
      </span>{" "}
      {runId
        ? t("{when} for {run}", {
            when,
            run: (
              <Link to="/domain/$domain/project/$project/runs/$run" params={{ project: runId.project, domain: runId.domain, run: runId.name }}>
                {runId.name}
              </Link>
            ),
          })
        : when}
      {lastError && `: ${lastError}`}
    </>
  );
}

interface TestProps {
  readonly rule: NotificationRule;
  readonly project: string;
  readonly domain: string;
}

/** Sends a test to all receivers of a rule, and says how each went. */
function Test({ rule, project, domain }: TestProps) {
  const denied = useDenied(NotificationService.method.sendTest, { project, domain });
  const test = useMutation(NotificationService.method.sendTest);
  return (
    <div className={css["test"]}>
      <Button small denied={denied} disabled={test.isPending} onClick={() => test.mutate({ projectId: { name: project, domain }, rule: rule.name })}>
        {test.isPending ? t("Sending …") : t("Send a test")}
      </Button>
      <div role="status">
        {test.data?.results.map((result, at) => <Result key={at} result={result} />)}
        {test.error && <ProblemNotice error={test.error} />}
      </div>
    </div>
  );
}

const Result = ({ result: { deliveryConfigName, kind, target, error } }: { readonly result: TestResult }) => (
  <Note>
    {t("{outcome} to {receiver}", {
      outcome: (
        <span className={css["state"]} data-state={error === "" ? "DELIVERED" : "DEAD"}>
          {error === "" ? t("Delivered") : t("Not delivered")}
        </span>
      ),
      receiver: receiverOf({ kind, target, deliveryConfigName, rule: "" }),
    })}
    {error !== "" && `: ${error}`}
  </Note>
);
