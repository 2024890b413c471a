import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { Field, TextArea } from "@/design/field";
import { ProblemNotice } from "@/design/notice";
import { useTell } from "@/design/toast";
import type { RunName } from "@/features/run/model/use-run-model";

export interface AbortDialogProps {
  readonly run: RunName;
  /** Only this action and what is below it; the whole run when unset or a0. */
  readonly action?: string | undefined;
  readonly open: boolean;
  readonly onClose: () => void;
}

/** Asks why a run, or an action with all below it, is to be stopped, and stops it. */
export function AbortDialog({ open, ...rest }: AbortDialogProps) {
  const part = partOf(rest.action);
  return (
    <Dialog
      open={open}
      onClose={rest.onClose}
      title={part === undefined ? `Abort the run ${rest.run.name}` : `Abort the action ${part}`}
      description="It and everything below it is stopped. What has ended keeps its phase and its outputs."
    >
      <Question {...rest} />
    </Dialog>
  );
}

const partOf = (action: string | undefined): string | undefined => (action === undefined || action === "a0" ? undefined : action);

function Question({ run, action, onClose }: Omit<AbortDialogProps, "open">) {
  const [reason, setReason] = useState("");
  const tell = useTell();
  const part = partOf(action);
  const runId = { project: run.project, domain: run.domain, name: run.name };
  const done = {
    onSuccess: () => {
      tell("good", part === undefined ? `The run ${run.name} is being aborted` : `The action ${part} is being aborted`);
      onClose();
    },
  };
  const whole = useMutation(RunService.method.abortRun, done);
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
      <Field label="Reason" hint="Everybody who looks at the run sees it.">
        {(control) => <TextArea {...control} rows={3} maxLength={1000} value={reason} onChange={(event) => setReason(event.target.value)} />}
      </Field>
      {error && <ProblemNotice error={error} />}
      <DialogActions>
        <Button onClick={onClose}>Keep it running</Button>
        <Button kind="danger" type="submit" disabled={pending}>
          {pending ? "Aborting …" : "Abort"}
        </Button>
      </DialogActions>
    </form>
  );
}
