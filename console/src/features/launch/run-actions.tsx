import { useState } from "react";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { Button } from "@/design/button";
import { isLive, isTerminal } from "@/design/phases";
import type { RunName } from "@/features/run/model/use-run-model";
import { AbortDialog } from "./abort";
import { RecoverDialog } from "./recover";
import { RerunDialog } from "./rerun";

type Open = "abort" | "rerun" | "recover";

/** What can be done with a run in this phase: stop it, run it again, or run again what has no result. */
export function RunActions({ run, phase }: { readonly run: RunName; readonly phase: ActionPhase }) {
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  return (
    <>
      {isTerminal(phase) && phase !== ActionPhase.SUCCEEDED && <Button onClick={() => setOpen("recover")}>Recover …</Button>}
      {phase !== ActionPhase.UNSPECIFIED && <Button onClick={() => setOpen("rerun")}>Rerun …</Button>}
      {isLive(phase) && (
        <Button kind="danger" onClick={() => setOpen("abort")}>
          Abort …
        </Button>
      )}
      <AbortDialog run={run} open={open === "abort"} onClose={close} />
      <RerunDialog run={run} open={open === "rerun"} onClose={close} />
      <RecoverDialog run={run} open={open === "recover"} onClose={close} />
    </>
  );
}
