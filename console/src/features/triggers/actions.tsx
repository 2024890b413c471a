import { useMutation } from "@connectrpc/connect-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { TriggerService } from "@gen/flyteidl2/trigger/trigger_service_pb.js";
import { RunSource } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { ProblemNotice } from "@/design/notice";
import { useNotify } from "@/design/toast";
import { useDenied } from "@/entities/access/use-denied";
import { t } from "@/texts/texts";
import type { TriggerId } from "./id";

/** Enables and disables a trigger, runs it now, and deletes it. */
export function TriggerActions({ id, active, onChange }: { readonly id: TriggerId; readonly active: boolean; readonly onChange: () => void }) {
  const navigate = useNavigate();
  const notify = useNotify();
  const [deleting, setDeleting] = useState(false);
  const { project, domain } = id;
  const update = useMutation(TriggerService.method.updateTriggers, { onSuccess: onChange });
  const fire = useMutation(RunService.method.createRun, {
    onSuccess: ({ run }) => {
      const name = run?.action?.id?.run?.name;
      if (name !== undefined) void navigate({ to: "/domain/$domain/project/$project/runs/$run", params: { domain, project, run: name } });
    },
  });
  const remove = useMutation(TriggerService.method.deleteTriggers, {
    onSuccess: () => {
      notify("good", t("Deleted trigger {name}", { name: id.name }));
      void navigate({ to: "/domain/$domain/project/$project/triggers", params: { domain, project } });
    },
  });
  const noUpdate = useDenied(TriggerService.method.updateTriggers, id);
  const noStart = useDenied(RunService.method.createRun, id);
  const noDelete = useDenied(TriggerService.method.deleteTriggers, id);
  const error = update.error ?? fire.error;
  return (
    <>
      {error && <ProblemNotice error={error} />}
      <Button denied={noUpdate} disabled={update.isPending} onClick={() => update.mutate({ names: [id], active: !active })}>
        {active ? t("Disable") : t("Enable")}
      </Button>
      <Button
        kind="primary"
        denied={noStart}
        disabled={fire.isPending}
        onClick={() =>
          fire.mutate({
            id: { case: "projectId", value: { organization: id.org, name: project, domain } },
            task: { case: "triggerName", value: id },
            source: RunSource.WEB,
          })
        }
      >
        {t("Run now")}
      </Button>
      <Button kind="danger" denied={noDelete} onClick={() => setDeleting(true)}>
        {t("Delete")}
      </Button>
      <Dialog
        open={deleting}
        onClose={() => setDeleting(false)}
        title={t("Delete trigger {name}", { name: id.name })}
        description={t("History is kept. The next deploy recreates the trigger if it is still in the code.")}
      >
        {remove.error && <ProblemNotice error={remove.error} />}
        <DialogActions>
          <Button onClick={() => setDeleting(false)}>{t("Cancel")}</Button>
          <Button kind="danger" disabled={remove.isPending} onClick={() => remove.mutate({ names: [id] })}>
            {t("Delete")}
          </Button>
        </DialogActions>
      </Dialog>
    </>
  );
}
