import { useQuery } from "@connectrpc/connect-query";
import { ConditionService } from "@gen/flytebinary/insight/v1/conditions_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import type { ActionDetails } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { shellWord } from "@/app/shell-word";
import { Facts } from "@/design/facts";
import { dateOf } from "@/design/format";
import { Command, Notice } from "@/design/notice";
import { isLive } from "@/design/phases";
import { When } from "@/design/time";
import { Prompt } from "@/features/launch/prompt";
import { SignalForm } from "@/features/launch/signal";
import { valueOf } from "@/entities/value/value";
import { typeWords } from "@/entities/value/type-words";
import { ValueView } from "@/entities/value/value-view";
import type { ActionName } from "@/entities/action/name";
import { nameOfPerson } from "@/entities/person/name-of-person";
import { whoIs } from "@/entities/person/who-is";
import { t } from "@/texts/texts";
import css from "./summary.module.css";

/** A condition with its prompt and answer. */
export function Condition({ action, details }: { readonly action: ActionName; readonly details: ActionDetails }) {
  const known = useKnown(action, details);
  const said = known?.answer;
  if (details.spec.case !== "condition") return null;
  const condition = details.spec.value;
  const answer = details.result.case === "signalInfo" ? details.result.value : undefined;
  const paused = details.status?.phase === ActionPhase.PAUSED;
  return (
    <section className={css["section"]} data-testid="condition">
      <Notice tone={paused ? "warning" : "plain"} title={condition.name}>
        <Prompt condition={condition} />
        {condition.description && <p className={css["muted"]}>{condition.description}</p>}
        <Facts
          facts={[
            [t("Type"), typeWords(condition.type)],
            [t("Answer"), answer && <ValueView value={valueOf(answer.output)} />],
            [t("Answered by"), whoIs(answer?.signalledBy)],
            [t("Answered at"), said?.answeredAt && <When at={dateOf(said.answeredAt)} />],
            [t("Comment"), said?.comment && <span className={css["said"]}>{said.comment}</span>],
            [t("Assigned to"), known?.assignee && nameOfPerson(known.assignee)],
            [t("Webhook"), condition.webhook?.url],
          ]}
        />
        {paused && (
          <>
            <SignalForm run={action.run} action={action.name} condition={condition} />
            <p className={css["muted"]}>{t("Or use the CLI:")}</p>
            <Command
              text={`flyte signal condition --project ${shellWord(action.run.project)} --domain ${shellWord(action.run.domain)} ${shellWord(action.run.name)} ${shellWord(action.name)}`}
            />
          </>
        )}
      </Notice>
    </section>
  );
}

/** How often it is read again who is asked, in milliseconds. */
const every = 10_000;

/** What the contract's details do not have: who is asked, and when the answer was given and with which words. */
function useKnown({ run: { project, domain, name, tracked }, name: action }: ActionName, details: ActionDetails) {
  const phase = details.status?.phase ?? ActionPhase.UNSPECIFIED;
  const answered = details.result.case === "signalInfo";
  const { data } = useQuery(
    ConditionService.method.listConditions,
    { runId: { project, domain, name }, action, limit: 1 },
    {
      enabled: details.spec.case === "condition" && !tracked,
      retry: false,
      // What was read while it waited lacks the answer.
      refetchInterval: ({ state }) => (isLive(phase) ? every : answered && !state.data?.conditions[0]?.answer ? 1000 : false),
    },
  );
  return data?.conditions[0];
}
