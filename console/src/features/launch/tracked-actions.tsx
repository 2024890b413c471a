import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { useCommands } from "@/app/commands";
import { Button } from "@/design/button";
import { isLive } from "@/design/phases";
import type { RunName } from "@/entities/run/kind";
import { keyOfName } from "@/entities/run/listed";
import { t } from "@/texts/texts";
import { AbortDialog } from "./abort";

/** The buttons of a tracked run. Its process is elsewhere: the server can only close its record. */
export function TrackedActions({ run, phase }: { readonly run: RunName; readonly phase: ActionPhase }) {
  const [open, setOpen] = useState(false);
  const navigate = useNavigate();
  const compare = () =>
    void navigate({ to: "/domain/$domain/project/$project/compare", params: { project: run.project, domain: run.domain }, search: { a: keyOfName(run) } });
  useCommands([
    { title: t("Compare with another run …"), run: compare },
    ...(isLive(phase) ? [{ title: t("Abort this run …"), also: t("stop cancel terminate"), run: () => setOpen(true) }] : []),
  ]);
  return (
    <>
      <Button onClick={compare}>{t("Compare …")}</Button>
      {isLive(phase) && (
        <Button kind="danger" onClick={() => setOpen(true)}>
          {t("Abort …")}
        </Button>
      )}
      <AbortDialog run={run} open={open} onClose={() => setOpen(false)} />
    </>
  );
}
