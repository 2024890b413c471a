import { useMutation } from "@connectrpc/connect-query";
import { useId, useState } from "react";
import type { ConditionAction } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { Button } from "@/design/button";
import { Field, Input, TextArea } from "@/design/field";
import { ProblemNotice } from "@/design/notice";
import { useNotify } from "@/design/toast";
import type { Denial } from "@/design/denial";
import { useDenied } from "@/entities/access/use-denied";
import type { RunName } from "@/entities/run/kind";
import { useNow } from "@/design/time";
import { t } from "@/texts/texts";
import { answerKind, payloadOf, type AnswerKind } from "./signal-value";
import { useDecision } from "./use-decision";
import css from "./signal.module.css";

type Payload = Extract<ReturnType<typeof payloadOf>, { readonly payload: unknown }>["payload"];

export interface SignalFormProps {
  readonly run: RunName;
  /** The condition's action. */
  readonly action: string;
  /** The action whose code waits. */
  readonly parent: string;
  readonly condition: ConditionAction;
  /** Called after the answer is sent. */
  readonly onDone?: (() => void) | undefined;
}

/** The form to answer a paused condition. */
export function SignalForm({ condition, ...rest }: SignalFormProps) {
  const kind = answerKind(condition.type);
  if (kind === undefined) return <p>{t("The console cannot answer conditions of this type. Use the CLI or SDK.")}</p>;
  return <Answer {...rest} condition={condition} kind={kind} />;
}

function Answer({ run, action, parent, condition, kind, onDone }: SignalFormProps & { readonly kind: AnswerKind }) {
  const notify = useNotify();
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState("");
  const denied = useDenied(RunService.method.signalEvent, run);
  const signal = useMutation(RunService.method.signalEvent, {
    onSuccess: () => {
      notify("good", t("Answered {name}", { name: condition.name }));
      onDone?.();
    },
  });
  const decision = useDecision<{ readonly payload: Payload; readonly words: string }>(({ payload }) =>
    signal.mutate({
      actionId: { run: { project: run.project, domain: run.domain, name: run.name }, name: action },
      parentActionName: parent,
      payload,
    }),
  );
  const answer = (given: string) => {
    const result = payloadOf(kind, given);
    if ("error" in result) {
      setWrong(result.error);
      return;
    }
    setWrong("");
    decision.hold({ payload: result.payload, words: kind === "boolean" ? (given === "true" ? t("Approve") : t("Deny")) : t("Answer “{given}”", { given: given.trim().slice(0, 60) }) });
  };
  return (
    <form
      className={css["form"]}
      aria-label={t("Answer {name}", { name: condition.name })}
      data-testid="signal-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (kind !== "boolean" && !signal.isPending && !decision.held && !denied) answer(text);
      }}
    >
      {decision.held ? (
        <Held words={decision.held.value.words} at={decision.held.at} onUndo={decision.undo} onNow={decision.now} />
      ) : kind === "boolean" ? (
        <YesNo denied={denied} disabled={signal.isPending} onAnswer={answer} />
      ) : (
        <>
          <Field label={t("Answer")} hint={hints[kind]} error={wrong}>
            {(control) =>
              kind === "text" ? (
                <TextArea {...control} rows={2} value={text} onChange={(event) => setText(event.target.value)} />
              ) : (
                <Input
                  {...control}
                  inputMode={kind === "integer" ? "numeric" : "decimal"}
                  autoComplete="off"
                  value={text}
                  onChange={(event) => setText(event.target.value)}
                />
              )
            }
          </Field>
          <Button kind="primary" type="submit" denied={denied} disabled={signal.isPending}>
            {signal.isPending ? t("Sending …") : t("Send")}
          </Button>
        </>
      )}
      {signal.error && <ProblemNotice error={signal.error} />}
    </form>
  );
}

/** A decision that can still be undone. */
function Held({ words, at, onUndo, onNow }: { readonly words: string; readonly at: number; readonly onUndo: () => void; readonly onNow: () => void }) {
  const left = Math.max(0, Math.ceil((at - useNow(500)) / 1000));
  return (
    <div className={css["held"]} data-testid="held-decision">
      <span>
        {t("{strong}: sent in {left} s. Leaving this page drops it.", { strong: <strong>{words}</strong>, left })}
      </span>
      <Button onClick={onUndo}>{t("Undo")}</Button>
      <Button kind="primary" onClick={onNow}>
        {t("Now")}
      </Button>
    </div>
  );
}

const hints = { integer: t("A whole number."), float: t("A number."), text: undefined, boolean: undefined } as const;

interface YesNoProps {
  readonly denied: Denial | undefined;
  readonly disabled: boolean;
  readonly onAnswer: (given: string) => void;
}

function YesNo({ denied, disabled, onAnswer }: YesNoProps) {
  const id = useId();
  return (
    <div role="group" aria-labelledby={id} className={css["choice"]}>
      <span id={id} className="visually-hidden">
        {t("Answer")}
      </span>
      <Button kind="primary" denied={denied} disabled={disabled} onClick={() => onAnswer("true")}>
        {t("Approve")}
      </Button>
      <Button kind="danger" denied={denied} disabled={disabled} onClick={() => onAnswer("false")}>
        {t("Deny")}
      </Button>
    </div>
  );
}
