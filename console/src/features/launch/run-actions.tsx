import { useNavigate } from "@tanstack/react-router";
import { ChevronDown } from "lucide-react";
import { useState } from "react";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { useCommands } from "@/app/commands";
import { shellWord } from "@/app/shell-word";
import { Button } from "@/design/button";
import { copyText } from "@/design/clipboard";
import { Menu, MenuItem } from "@/design/menu";
import { isLive, isTerminal } from "@/design/phases";
import { useNotify } from "@/design/toast";
import { useDenied } from "@/entities/access/use-denied";
import { asCliRerun, asPythonRerun } from "@/entities/action/copy-as";
import type { RunModel } from "@/entities/run/model/run-model";
import { serviceOf, type RunName } from "@/entities/run/kind";
import { t } from "@/texts/texts";
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
    ...(recoverable && !noStart ? [{ title: t("Recover this run …"), run: () => setOpen("recover") }] : []),
    ...(phase === ActionPhase.UNSPECIFIED || noStart ? [] : [{ title: t("Rerun this run …"), also: t("again restart"), run: () => setOpen("rerun") }]),
    ...(isLive(phase) && !noAbort ? [{ title: t("Abort this run …"), also: t("stop cancel terminate"), run: () => setOpen("abort") }] : []),
  ]);
  return (
    <>
      {recoverable && (
        <Button denied={noStart} onClick={() => setOpen("recover")}>
          {t("Recover …")}
        </Button>
      )}
      {phase !== ActionPhase.UNSPECIFIED && (
        <Button denied={noStart} onClick={() => setOpen("rerun")}>
          {t("Rerun …")}
        </Button>
      )}
      {isLive(phase) && (
        <Button kind="danger" denied={noAbort} onClick={() => setOpen("abort")}>
          {t("Abort …")}
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
    void copyText(text).then((done) => (done ? notify("good", t("Copied: {what}", { what })) : notify("danger", t("The browser blocked copying"))));
  return (
    <Menu
      trigger={
        <Button>
          {t("More")}
          <ChevronDown size={14} aria-hidden />
        </Button>
      }
    >
      <MenuItem
        onSelect={() =>
          void navigate({ to: "/domain/$domain/project/$project/compare", params: { project: run.project, domain: run.domain }, search: { a: run.name } })
        }
      >
        {t("Compare with another run …")}
      </MenuItem>
      <MenuItem onSelect={copy(asCliRerun(root, []), t("command to rerun"))}>{t("Copy command: rerun")}</MenuItem>
      <MenuItem onSelect={copy(asPythonRerun(root, []), t("Python program to rerun"))}>{t("Copy Python: rerun")}</MenuItem>
      {recoverable && <MenuItem onSelect={copy(`flyte rerun ${place} ${shellWord(run.name)} --recover`, t("command to recover"))}>{t("Copy command: recover")}</MenuItem>}
      {live && <MenuItem onSelect={copy(`flyte abort run ${place} ${shellWord(run.name)}`, t("command to abort"))}>{t("Copy command: abort")}</MenuItem>}
    </Menu>
  );
}
