import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { Field, TextArea } from "@/design/field";
import { ProblemNotice } from "@/design/notice";
import { useNotify } from "@/design/toast";
import { serviceOf } from "@/entities/run/kind";
import type { RunName } from "@/entities/run/kind";
import { t } from "@/texts/texts";

export interface AbortDialogProps {
  readonly run: RunName;
  /** The action whose subtree is aborted; the whole run if unset or a0. */
  readonly action?: string | undefined;
  readonly open: boolean;
  readonly onClose: () => void;
}

/** Asks for a reason and aborts a run, or an action with its subtree. */
export function AbortDialog({ open, ...props }: AbortDialogProps) {
  const part = partOf(props.action);
  return (
    <Dialog
      open={open}
      onClose={props.onClose}
      title={part === undefined ? t("Abort run {name}", { name: props.run.name }) : t("Abort action {action}", { action: part })}
      description={t("Actions that already ended keep their phase and outputs.")}
    >
      <AbortForm {...props} />
    </Dialog>
  );
}

const partOf = (action: string | undefined): string | undefined => (action === undefined || action === "a0" ? undefined : action);

function AbortForm({ run, action, onClose }: Omit<AbortDialogProps, "open">) {
  const [reason, setReason] = useState("");
  const notify = useNotify();
  const part = partOf(action);
  const runId = { project: run.project, domain: run.domain, name: run.name };
  const done = {
    onSuccess: () => {
      notify("good", part === undefined ? t("Aborting run {name}", { name: run.name }) : t("Aborting action {action}", { action: part }));
      onClose();
    },
  };
  const whole = useMutation(serviceOf(run).method.abortRun, done);
  const one = useMutation(RunService.method.abortAction, done);
  const given = reason.trim();
  const abort = () => {
    if (part === undefined) whole.mutate({ runId, ...(given && { reason: given }) });
    else one.mutate({ actionId: { run: runId, name: part }, reason: given });
  };
  const pending = whole.isPending || one.isPending;
  const error = whole.error ?? one.error;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!pending) abort();
      }}
      style={{ display: "grid", gap: "var(--space-4)" }}
      data-testid="abort-form"
    >
      <Field label={t("Reason")} hint={t("Visible to everyone.")}>
        {(control) => <TextArea {...control} rows={3} maxLength={1000} value={reason} onChange={(event) => setReason(event.target.value)} />}
      </Field>
      {error && <ProblemNotice error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("Cancel")}</Button>
        <Button kind="danger" type="submit" disabled={pending}>
          {pending ? t("Aborting …") : t("Abort")}
        </Button>
      </DialogActions>
    </form>
  );
}
