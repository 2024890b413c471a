import { useNavigate } from "@tanstack/react-router";
import { ChevronDown } from "lucide-react";
import { useState } from "react";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { useCommands } from "@/app/commands";
import { Button } from "@/design/button";
import { Menu, MenuItem } from "@/design/menu";
import { isLive, isTerminal } from "@/design/phases";
import { useNotify } from "@/design/toast";
import { useDenied } from "@/entities/access/use-denied";
import { asCliRerun, asPythonRerun, shellWord } from "@/entities/action/copy-as";
import type { RunModel } from "@/entities/run/model/run-model";
import { serviceOf, type RunName } from "@/entities/run/kind";
import { AbortDialog } from "./abort";
import { RecoverDialog } from "./recover";
import { RerunDialog } from "./rerun";

type Open = "abort" | "rerun" | "recover";

export interface RunActionsProps {
  readonly run: RunName;
  readonly phase: ActionPhase;
  /** For the identities of the actions. */
  readonly model: RunModel;
}

/** The buttons and the menu of a run, depending on its phase. */
export function RunActions({ run, phase, model }: RunActionsProps) {
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const recoverable = isTerminal(phase) && phase !== ActionPhase.SUCCEEDED;
  const noStart = useDenied(RunService.method.createRun, run);
  const noAbort = useDenied(serviceOf(run).method.abortRun, run);
  useCommands([
    ...(recoverable && !noStart ? [{ title: "Recover this run …", run: () => setOpen("recover") }] : []),
    ...(phase === ActionPhase.UNSPECIFIED || noStart ? [] : [{ title: "Rerun this run …", also: "again restart", run: () => setOpen("rerun") }]),
    ...(isLive(phase) && !noAbort ? [{ title: "Abort this run …", also: "stop cancel terminate", run: () => setOpen("abort") }] : []),
  ]);
  return (
    <>
      {recoverable && (
        <Button denied={noStart} onClick={() => setOpen("recover")}>
          Recover …
        </Button>
      )}
      {phase !== ActionPhase.UNSPECIFIED && (
        <Button denied={noStart} onClick={() => setOpen("rerun")}>
          Rerun …
        </Button>
      )}
      {isLive(phase) && (
        <Button kind="danger" denied={noAbort} onClick={() => setOpen("abort")}>
          Abort …
        </Button>
      )}
      {phase !== ActionPhase.UNSPECIFIED && <More run={run} recoverable={recoverable} live={isLive(phase)} />}
      <AbortDialog run={run} open={open === "abort"} onClose={close} />
      <RerunDialog run={run} open={open === "rerun"} onClose={close} />
      <RecoverDialog
        run={run}
        model={model}
        open={open === "recover"}
        onClose={close}
      />
    </>
  );
}

function More({ run, recoverable, live }: { readonly run: RunName; readonly recoverable: boolean; readonly live: boolean }) {
  const navigate = useNavigate();
  const notify = useNotify();
  const root = { run, name: "a0" };
  const place = `--project ${shellWord(run.project)} --domain ${shellWord(run.domain)}`;
  const copy = (text: string, what: string) => () =>
    void navigator.clipboard.writeText(text).then(
      () => notify("good", `Copied: ${what}`),
      () => notify("danger", "The browser blocked copying"),
    );
  return (
    <Menu
      trigger={
        <Button>
          More
          <ChevronDown size={14} aria-hidden />
        </Button>
      }
    >
      <MenuItem
        onSelect={() =>
          void navigate({ to: "/domain/$domain/project/$project/compare", params: { project: run.project, domain: run.domain }, search: { a: run.name } })
        }
      >
        Compare with another run …
      </MenuItem>
      <MenuItem onSelect={copy(asCliRerun(root, []), "command to rerun")}>Copy command: rerun</MenuItem>
      <MenuItem onSelect={copy(asPythonRerun(root, []), "Python program to rerun")}>Copy Python: rerun</MenuItem>
      {recoverable && <MenuItem onSelect={copy(`flyte rerun ${place} ${shellWord(run.name)} --recover`, "command to recover")}>Copy command: recover</MenuItem>}
      {live && <MenuItem onSelect={copy(`flyte abort run ${place} ${shellWord(run.name)}`, "command to abort")}>Copy command: abort</MenuItem>}
    </Menu>
  );
}
