import { useNavigate } from "@tanstack/react-router";
import { ChevronsUpDown } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { chunk } from "@/api/chunk";
import { Button } from "@/design/button";
import { Loading } from "@/design/notice";
import { Popover } from "@/design/popover";
import { t } from "@/texts/texts";
import type { Place } from "@/app/place";
import { useHere } from "@/app/places";

const PlaceList = lazy(() => chunk(() => import("./place-list")).then((m) => ({ default: m.PlaceList })));

/** Shows the current project and domain, and switches to another one. */
export function PlaceMenu() {
  const navigate = useNavigate();
  const here = useHere();
  const [open, setOpen] = useState(false);
  if (!here) return null;
  const go = (place: Place | undefined) => {
    setOpen(false);
    // Stay on the tasks page when switching from it.
    const to = /\/project\/[^/]+\/tasks/.test(location.pathname) ? "/domain/$domain/project/$project/tasks" : "/domain/$domain/project/$project/runs";
    void (place ? navigate({ to, params: place }) : navigate({ to: "/" }));
  };
  return (
    <Popover
      open={open}
      onOpenChange={setOpen}
      label={t("Projects and domains")}
      trigger={
        <Button kind="quiet" aria-label={t("{project} / {domain}: switch project or domain", { project: here.project, domain: here.domain })}>
          {here.project} / {here.domain}
          <ChevronsUpDown size={14} aria-hidden />
        </Button>
      }
    >
      <Suspense fallback={<Loading what={t("projects")} />}>
        <PlaceList here={here} go={go} />
      </Suspense>
    </Popover>
  );
}
