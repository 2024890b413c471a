import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { InsightService, type PlannedAction } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { client } from "@/api/transport";
import { Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { plural } from "@/design/format";
import { Loading, Notice, ProblemNotice } from "@/design/notice";
import { Phase } from "@/design/phase";
import { useTell } from "@/design/toast";
import type { RunName } from "@/features/run/model/use-run-model";
import { recoverRun } from "./again";
import { Names } from "./submit";
import css from "./recover.module.css";

export interface RecoverDialogProps {
  readonly run: RunName;
  /** What an action is called among people. */
  readonly titleOf?: ((action: string) => string | undefined) | undefined;
  /** Actions that are to run again at first, whatever they have; the reader may choose others. */
  readonly forced?: readonly string[] | undefined;
  readonly open: boolean;
  readonly onClose: () => void;
}

/** Shows what a recovery would reuse and what it would run again, and starts it. */
export function RecoverDialog({ run, titleOf, forced, open, onClose }: RecoverDialogProps) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      wide
      title={`Recover ${run.name}`}
      description="A new run of the same code with the same inputs. It takes from this one what has a result, and makes the rest."
    >
      <Plan run={run} titleOf={titleOf} forced={forced} onClose={onClose} />
    </Dialog>
  );
}

function Plan({ run, titleOf, forced = [], onClose }: Omit<RecoverDialogProps, "open">) {
  const navigate = useNavigate();
  const tell = useTell();
  const [force, setForce] = useState<readonly string[]>(forced);
  const [names] = useState(() => new Names());
  const preview = useInfiniteQuery({
    queryKey: ["preview-recovery", run, force],
    queryFn: ({ pageParam, signal }) =>
      client(InsightService).previewRecovery({ runId: { project: run.project, domain: run.domain, name: run.name }, forceRerunActions: [...force], limit: 100, token: pageParam }, { signal }),
    initialPageParam: "",
    getNextPageParam: (page) => page.token || undefined,
    placeholderData: (before) => before, // the totals stay while a choice is reckoned
  });
  const recover = useMutation({
    mutationFn: () => recoverRun(run, force, names),
    onSuccess: (next) => {
      tell("good", `The run ${next.name} is started`);
      onClose();
      void navigate({ to: "/domain/$domain/project/$project/runs/$run", params: { project: next.project, domain: next.domain, run: next.name } });
    },
  });
  if (preview.error) return <ProblemNotice error={preview.error} retry={() => void preview.refetch()} />;
  if (!preview.data) return <Loading what="what would be reused" />;
  const first = preview.data.pages[0];
  const actions = preview.data.pages.flatMap((page) => page.actions);
  const toggle = (name: string) => setForce((before) => (before.includes(name) ? before.filter((one) => one !== name) : [...before, name]));
  return (
    <div className={css["plan"]} data-testid="recover-plan">
      <div className={css["totals"]} role="status" aria-busy={preview.isPlaceholderData}>
        <span>
          <strong>{plural(Number(first?.reused ?? 0n), "action")}</strong> reused
        </span>{" "}
        <span>
          <strong>{plural(Number(first?.rerun ?? 0n), "action")}</strong> run again
        </span>
      </div>
      {first?.reused === 0n && <Notice tone="warning">Nothing would be reused: this is the same as running it all again.</Notice>}
      {/* A part that scrolls has to be within the reach of the keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className={css["frame"]} tabIndex={0} role="region" aria-label="Actions of the run">
        <table className={css["table"]}>
          <thead>
            <tr>
              <th scope="col">Action</th>
              <th scope="col">Here</th>
              <th scope="col">In the new run</th>
              <th scope="col">Run again</th>
            </tr>
          </thead>
          <tbody>
            {actions.map((action) => (
              <Row key={action.name} action={action} title={titleOf?.(action.name)} forced={force.includes(action.name)} onToggle={toggle} />
            ))}
          </tbody>
        </table>
      </div>
      {preview.hasNextPage && (
        <div>
          <Button small disabled={preview.isFetchingNextPage} onClick={() => void preview.fetchNextPage()}>
            {preview.isFetchingNextPage ? "Loading …" : "Show more actions"}
          </Button>
        </div>
      )}
      {recover.error && <ProblemNotice error={recover.error} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" disabled={recover.isPending || preview.isPlaceholderData} onClick={() => recover.mutate()}>
          {recover.isPending ? "Starting …" : "Recover"}
        </Button>
      </DialogActions>
    </div>
  );
}

function Row({ action, title, forced, onToggle }: { readonly action: PlannedAction; readonly title: string | undefined; readonly forced: boolean; readonly onToggle: (name: string) => void }) {
  return (
    <tr data-action={action.name}>
      <th scope="row">
        {title}
        <span className={css["name"]}>{action.name}</span>
        {action.name === "a0" && <span className={css["reason"]}>the run’s own task</span>}
      </th>
      <td>
        <Phase phase={action.phase} />
      </td>
      <td>
        {action.reused ? "Reused" : "Runs again"}
        {action.reason && <span className={css["reason"]}>{action.reason}</span>}
      </td>
      <td data-label="run again">
        {/* What runs again anyway needs no choice. */}
        {(action.reused || forced) && action.name !== "a0" && <input type="checkbox" aria-label={`Run ${title === undefined ? "" : `${title} `}${action.name} again`} checked={forced} onChange={() => onToggle(action.name)} />}
      </td>
    </tr>
  );
}
