import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { chunk } from "@/api/chunk";
import { Button } from "@/design/button";
import { Dialog } from "@/design/dialog";
import { Loading, ProblemNotice } from "@/design/notice";
import type { RunName } from "@/entities/run/kind";
import { t } from "@/texts/texts";
import { useSource } from "./use-inputs";

const LaunchForm = lazy(() => chunk(() => import("./launch-form")).then((m) => ({ default: m.LaunchForm })));

export interface RerunDialogProps {
  readonly run: RunName;
  /** The action to rerun alone, with its inputs; the whole run if unset or a0. */
  readonly action?: string | undefined;
  readonly open: boolean;
  readonly onClose: () => void;
}

/** Reruns a run with the same or changed inputs and options, and opens the new run. */
export function RerunDialog({ run, action, open, onClose }: RerunDialogProps) {
  const part = action === undefined || action === "a0" ? undefined : action;
  return (
    <Dialog
      open={open}
      onClose={onClose}
      wide
      title={part === undefined ? t("Rerun {name}", { name: run.name }) : t("Rerun {action} of {run} only", { action: part, run: run.name })}
      description={t("Creates a new run of the same code. Cached results are used where available.")}
    >
      <Content run={run} action={part} onClose={onClose} />
    </Dialog>
  );
}

function Content({ run, action, onClose }: Omit<RerunDialogProps, "open">) {
  const navigate = useNavigate();
  const { data, error, refetch } = useSource(run, action);
  if (error) return <ProblemNotice error={error} retry={() => void refetch()} />;
  if (!data) return <Loading what={t("inputs")} />;
  return (
    <Suspense fallback={<Loading what={t("form")} />}>
      <LaunchForm
        place={{ project: run.project, domain: run.domain }}
        task={{ case: "taskSpec", value: data.source.spec }}
        inputs={data.inputs}
        source={data.source}
        related
        cancel={<Button onClick={onClose}>{t("Cancel")}</Button>}
        onLaunched={(next) => {
          onClose();
          void navigate({ to: "/domain/$domain/project/$project/runs/$run", params: { project: next.project, domain: next.domain, run: next.name } });
        }}
      />
    </Suspense>
  );
}
