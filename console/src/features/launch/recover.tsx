import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { InsightService, type PlannedAction } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { client } from "@/api/transport";
import { Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { Loading, Notice, ProblemNotice } from "@/design/notice";
import { Phase } from "@/design/phase";
import { Note, Table } from "@/design/table";
import { useNotify } from "@/design/toast";
import { nameOf } from "@/entities/action/identity";
import { useWanted } from "@/entities/action/use-wanted";
import { none, RunModel } from "@/entities/run/model/run-model";
import { useModelVersion } from "@/entities/run/model/use-run-model";
import type { RunName } from "@/entities/run/kind";
import { t, tn } from "@/texts/texts";
import { recoverRun } from "./related-run";
import { Names } from "./submit";
import css from "./recover.module.css";

export interface RecoverDialogProps {
  readonly run: RunName;
  /** For the identities of the actions. */
  readonly model?: RunModel | undefined;
  /** Actions that are initially selected to rerun. */
  readonly forced?: readonly string[] | undefined;
  readonly open: boolean;
  readonly onClose: () => void;
}

/** Previews what a recovery reuses and reruns, and starts it. */
export function RecoverDialog({ run, model, forced, open, onClose }: RecoverDialogProps) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      wide
      title={forced ? t("Rerun {name} from {forced}", { name: run.name, forced: forced.join(", ") }) : t("Recover {name}", { name: run.name })}
      description={t("Reuses succeeded actions and reruns the rest, with the same code and inputs.")}
    >
      <Plan run={run} model={model} forced={forced} onClose={onClose} />
    </Dialog>
  );
}

function Plan({ run, model, forced = [], onClose }: Omit<RecoverDialogProps, "open">) {
  const navigate = useNavigate();
  const notify = useNotify();
  const [force, setForce] = useState<readonly string[]>(forced);
  const [names] = useState(() => new Names());
  const preview = useInfiniteQuery({
    queryKey: ["preview-recovery", run, force],
    queryFn: ({ pageParam, signal }) =>
      client(InsightService).previewRecovery(
        { runId: { project: run.project, domain: run.domain, name: run.name }, forceRerunActions: [...force], limit: 100, token: pageParam },
        { signal },
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.token || undefined,
    placeholderData: (before) => before, // keep the totals while the preview is updated
  });
  const recover = useMutation({
    mutationFn: () => recoverRun(run, force, names),
    onSuccess: (next) => {
      notify("good", t("Run {name} started", { name: next.name }));
      onClose();
      void navigate({ to: "/domain/$domain/project/$project/runs/$run", params: { project: next.project, domain: next.domain, run: next.name } });
    },
  });
  const actions = preview.data?.pages.flatMap((page) => page.actions) ?? [];
  const titleOf = useTitles(model, actions);
  if (preview.error) return <ProblemNotice error={preview.error} retry={() => void preview.refetch()} />;
  if (!preview.data) return <Loading what={t("preview")} />;
  const first = preview.data.pages[0];
  const toggle = (name: string) => setForce((before) => (before.includes(name) ? before.filter((one) => one !== name) : [...before, name]));
  return (
    <div className={css["plan"]} data-testid="recover-plan">
      <div className={css["totals"]} role="status" aria-busy={preview.isPlaceholderData}>
        <span>
          {t("{actions} reused", { actions: <strong>{tn(Number(first?.reused ?? 0n), "{n} action", "{n} actions")}</strong> })}
        </span>{" "}
        <span>
          {t("{actions} to rerun", { actions: <strong>{tn(Number(first?.rerun ?? 0n), "{n} action", "{n} actions")}</strong> })}
        </span>
      </div>
      {first?.reused === 0n && <Notice tone="warning">{t("Nothing can be reused: this is the same as a rerun.")}</Notice>}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable region must be reachable by keyboard */}
      <div className={css["frame"]} tabIndex={0} role="region" aria-label={t("Actions of the run")}>
        <Table<PlannedAction>
          label={t("Actions of the run")}
          rows={actions}
          keyOf={({ name }) => name}
          attributesOf={({ name }) => ({ "data-action": name })}
          columns={[
            { label: t("Action"), cell: ({ name }) => <Named action={name} title={titleOf(name)} /> },
            { label: t("Phase"), cell: ({ phase }) => <Phase phase={phase} /> },
            {
              label: t("Result"),
              cell: ({ reused, reason }) => (
                <>
                  {reused ? t("Reused") : t("Reruns")}
                  {reason && <Note>{reason}</Note>}
                </>
              ),
              wrap: true,
            },
            { label: t("Rerun"), cell: (action) => <Choice action={action} title={titleOf(action.name)} forced={force.includes(action.name)} onToggle={toggle} /> },
          ]}
        />
      </div>
      {preview.hasNextPage && (
        <div>
          <Button small disabled={preview.isFetchingNextPage} onClick={() => void preview.fetchNextPage()}>
            {preview.isFetchingNextPage ? t("Loading …") : t("Show more actions")}
          </Button>
        </div>
      )}
      {recover.error && <ProblemNotice error={recover.error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("Cancel")}</Button>
        <Button kind="primary" disabled={recover.isPending || preview.isPlaceholderData} onClick={() => recover.mutate()}>
          {recover.isPending ? t("Starting …") : t("Recover")}
        </Button>
      </DialogActions>
    </div>
  );
}

/** The identities of the listed actions. */
function useTitles(model: RunModel | undefined, actions: readonly PlannedAction[]): (action: string) => string | undefined {
  const rows = model ? actions.map(({ name }) => model.row(name)).filter((row) => row !== none) : [];
  useWanted(model, "recovery", rows);
  useModelVersion(model ?? noModel);
  return (action) => {
    const row = model?.row(action) ?? none;
    return model && row !== none ? nameOf(model, row) : undefined;
  };
}

const noModel = new RunModel();

function Named({ action, title }: { readonly action: string; readonly title: string | undefined }) {
  return (
    <>
      {title}
      <span className={css["name"]}>{action}</span>
      {action === "a0" && <Note>{t("root action")}</Note>}
    </>
  );
}

interface ChoiceProps {
  readonly action: PlannedAction;
  readonly title: string | undefined;
  readonly forced: boolean;
  readonly onToggle: (name: string) => void;
}

/** Whether to rerun an action that could be reused. Actions that rerun anyway need no choice. */
function Choice({ action: { name, reused }, title, forced, onToggle }: ChoiceProps) {
  if (name === "a0" || (!reused && !forced)) return null;
  return <input type="checkbox" aria-label={t("Rerun {title}{name}", { title: title === undefined ? "" : `${title} `, name })} checked={forced} onChange={() => onToggle(name)} />;
}
