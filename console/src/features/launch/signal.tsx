import { useMutation } from "@connectrpc/connect-query";
import { useId, useState } from "react";
import { ConditionService } from "@gen/flytebinary/insight/v1/conditions_pb.js";
import type { ConditionAction } from "@gen/flyteidl2/workflow/run_definition_pb.js";
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

function Answer({ run, action, condition, kind, onDone }: SignalFormProps & { readonly kind: AnswerKind }) {
  const notify = useNotify();
  const [text, setText] = useState("");
  const [comment, setComment] = useState("");
  const [wrong, setWrong] = useState("");
  const denied = useDenied(ConditionService.method.answerCondition, run);
  const signal = useMutation(ConditionService.method.answerCondition, {
    onSuccess: () => {
      notify("good", t("Answered {name}", { name: condition.name }));
      onDone?.();
    },
  });
  const decision = useDecision<{ readonly payload: Payload; readonly comment: string; readonly words: string }>((given) =>
    signal.mutate({
      actionId: { run: { project: run.project, domain: run.domain, name: run.name }, name: action },
      payload: given.payload,
      comment: given.comment,
    }),
  );
  const answer = (given: string) => {
    const result = payloadOf(kind, given);
    if ("error" in result) {
      setWrong(result.error);
      return;
    }
    setWrong("");
    const words = kind === "boolean" ? (given === "true" ? t("Approve") : t("Deny")) : t("Answer “{answer}”", { answer: given.trim().slice(0, 60) });
    decision.hold({ payload: result.payload, comment: comment.trim(), words });
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
        <Held words={decision.held.value.words} comment={decision.held.value.comment} at={decision.held.at} onUndo={decision.undo} onNow={decision.now} />
      ) : kind === "boolean" ? (
        <>
          <Comment text={comment} onChange={setComment} />
          <YesNo denied={denied} disabled={signal.isPending} onAnswer={answer} />
        </>
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
          <Comment text={comment} onChange={setComment} />
          <Button kind="primary" type="submit" denied={denied} disabled={signal.isPending}>
            {signal.isPending ? t("Sending …") : t("Send")}
          </Button>
        </>
      )}
      {signal.error && <ProblemNotice error={signal.error} />}
    </form>
  );
}

/** How long a comment may be, as the server has it. */
const longest = 2000;

function Comment({ text, onChange }: { readonly text: string; readonly onChange: (text: string) => void }) {
  return (
    <Field label={t("Comment")} hint={t("Optional. Kept with the answer.")}>
      {(control) => <TextArea {...control} rows={2} maxLength={longest} value={text} onChange={(event) => onChange(event.target.value)} />}
    </Field>
  );
}

interface HeldProps {
  readonly words: string;
  readonly comment: string;
  readonly at: number;
  readonly onUndo: () => void;
  readonly onNow: () => void;
}

/** A decision that can still be undone. */
function Held({ words, comment, at, onUndo, onNow }: HeldProps) {
  const left = Math.max(0, Math.ceil((at - useNow(500)) / 1000));
  return (
    <div className={css["held"]} data-testid="held-decision">
      <span>
        {t("{answer}: sent in {seconds} s. Leaving this page drops it.", { answer: <strong>{words}</strong>, seconds: left })}
        {comment !== "" && <q className={css["quote"]}>{comment}</q>}
      </span>
      <Button onClick={onUndo}>{t("Undo")}</Button>
      <Button kind="primary" onClick={onNow}>
        {t("Now")}
      </Button>
    </div>
  );
}

const hints = { integer: t("Enter a whole number."), float: t("Enter a number."), text: undefined, boolean: undefined } as const;

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
