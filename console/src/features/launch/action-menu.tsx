import { Ellipsis } from "lucide-react";
import { useState } from "react";
import { ActionType } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import type { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { IconButton } from "@/design/button";
import { Menu, MenuItem } from "@/design/menu";
import { isLive, isTerminal } from "@/design/phases";
import { useDenied } from "@/entities/access/use-denied";
import type { RunName } from "@/entities/run/kind";
import { t } from "@/texts/texts";
import { AbortDialog } from "./abort";
import { RecoverDialog } from "./recover";
import { RerunDialog } from "./rerun";

export interface ActionMenuProps {
  readonly run: RunName;
  readonly action: string;
  readonly type: ActionType;
  readonly phase: ActionPhase;
}

type Open = "abort" | "alone" | "from-here";

/** The menu of an action. The root action has its buttons in the header of the run. */
export function ActionMenu({ run, action, type, phase }: ActionMenuProps) {
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const noStart = useDenied(RunService.method.createRun, run);
  const noAbort = useDenied(RunService.method.abortAction, run);
  const task = type !== ActionType.TRACE && type !== ActionType.CONDITION;
  const ended = isTerminal(phase);
  if (action === "a0" || (!task && !isLive(phase))) return null;
  return (
    <>
      <Menu
        trigger={
          <IconButton label={t("Action menu")}>
            <Ellipsis size={16} aria-hidden />
          </IconButton>
        }
      >
        {task && (
          <MenuItem denied={noStart} onSelect={() => setOpen("alone")}>
            {t("Rerun this action only …")}
          </MenuItem>
        )}
        {task && ended && (
          <MenuItem denied={noStart} onSelect={() => setOpen("from-here")}>
            {t("Rerun from here …")}
          </MenuItem>
        )}
        {isLive(phase) && (
          <MenuItem denied={noAbort} onSelect={() => setOpen("abort")}>
            {t("Abort …")}
          </MenuItem>
        )}
      </Menu>
      <RerunDialog run={run} action={action} open={open === "alone"} onClose={close} />
      <RecoverDialog run={run} forced={[action]} open={open === "from-here"} onClose={close} />
      <AbortDialog run={run} action={action} open={open === "abort"} onClose={close} />
    </>
  );
}
