import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import type { ActionDetails } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { Facts } from "@/design/facts";
import { Command, Notice } from "@/design/notice";
import { Prompt } from "@/features/launch/prompt";
import { SignalForm } from "@/features/launch/signal";
import { shellWord } from "@/entities/action/copy-as";
import { valueOf } from "@/entities/value/value";
import { typeWords } from "@/entities/value/type-words";
import { ValueView } from "@/entities/value/value-view";
import type { ActionName } from "@/entities/action/name";
import { whoIs } from "@/entities/person/who-is";
import { t } from "@/texts/texts";
import css from "./summary.module.css";

/** A condition with its prompt and answer. */
export function Condition({ action, details }: { readonly action: ActionName; readonly details: ActionDetails }) {
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
            [t("Webhook"), condition.webhook?.url],
          ]}
        />
        {paused && (
          <>
            <SignalForm run={action.run} action={action.name} parent={details.metadata?.parent ?? ""} condition={condition} />
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
