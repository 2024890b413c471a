import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Spec_DesiredState, type App } from "@gen/flyteidl2/app/app_definition_pb.js";
import { AppService } from "@gen/flyteidl2/app/app_service_pb.js";
import { client } from "@/api/transport";
import { useCommands } from "@/app/commands";
import { Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { ProblemNotice } from "@/design/notice";
import { useNotify } from "@/design/toast";
import { useDenied } from "@/entities/access/use-denied";
import { t } from "@/texts/texts";
import type { AppId } from "./id";
import { isWanted } from "./words";

/** Stops, starts and deletes an app. */
export function AppActions({ id, app, onChange }: { readonly id: AppId; readonly app: App; readonly onChange: () => void }) {
  const [asked, setAsked] = useState<"stop" | "delete">();
  const wanted = isWanted(app);
  const set = useDesiredState(id, onChange);
  const noUpdate = useDenied(AppService.method.update, id);
  const noDelete = useDenied(AppService.method.delete, id);
  const start = () => set.mutate(Spec_DesiredState.ACTIVE);
  useCommands([
    ...(noUpdate ? [] : [wanted ? { title: t("Stop this app"), run: () => setAsked("stop") } : { title: t("Start this app"), run: start }]),
    ...(noDelete ? [] : [{ title: t("Delete this app"), run: () => setAsked("delete") }]),
  ]);
  const close = () => {
    setAsked(undefined);
    set.reset();
  };
  return (
    <>
      {set.error && asked === undefined && <ProblemNotice error={set.error} />}
      {wanted ? (
        <Button denied={noUpdate} onClick={() => setAsked("stop")}>
          {t("Stop")}
        </Button>
      ) : (
        <Button denied={noUpdate} disabled={set.isPending} onClick={start}>
          {t("Start")}
        </Button>
      )}
      <Button kind="danger" denied={noDelete} onClick={() => setAsked("delete")}>
        {t("Delete")}
      </Button>
      <Dialog
        open={asked === "stop"}
        onClose={close}
        title={t("Stop app {name}", { name: id.name })}
        description={t("Stops after in-flight requests finish. Requests fail until you start it again.")}
      >
        {set.error && <ProblemNotice error={set.error} />}
        <DialogActions>
          <Button onClick={close}>{t("Cancel")}</Button>
          <Button kind="primary" disabled={set.isPending} onClick={() => set.mutate(Spec_DesiredState.STOPPED, { onSuccess: close })}>
            {t("Stop")}
          </Button>
        </DialogActions>
      </Dialog>
      <DeleteDialog id={id} open={asked === "delete"} onClose={close} />
    </>
  );
}

/** Changes only the desired state: all else is sent as it is now, not as the page has it. */
function useDesiredState(id: AppId, onChange: () => void) {
  return useMutation({
    mutationFn: async (desiredState: Spec_DesiredState) => {
      const { app } = await client(AppService).get({ identifier: { case: "appId", value: id } });
      if (!app?.spec) return;
      const reason = desiredState === Spec_DesiredState.STOPPED ? t("Stopped from the console") : t("Started from the console");
      await client(AppService).update({ app: { ...app, spec: { ...app.spec, desiredState } }, reason });
    },
    onSuccess: onChange,
  });
}

function DeleteDialog({ id, open, onClose }: { readonly id: AppId; readonly open: boolean; readonly onClose: () => void }) {
  const { project, domain, name } = id;
  const navigate = useNavigate();
  const notify = useNotify();
  const remove = useMutation({
    mutationFn: () => client(AppService).delete({ appId: id }),
    onSuccess: () => {
      notify("good", t("Deleted app {name}", { name }));
      void navigate({ to: "/domain/$domain/project/$project/apps", params: { domain, project } });
    },
  });
  return (
    <Dialog
      open={open}
      onClose={() => {
        remove.reset();
        onClose();
      }}
      title={t("Delete app {name}", { name })}
      description={t("Deletes the app with its revisions, logs and URLs. This cannot be undone.")}
    >
      {remove.error && <ProblemNotice error={remove.error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("Cancel")}</Button>
        <Button kind="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
          {t("Delete")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
