import { useMutation } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { EllipsisVertical } from "lucide-react";
import { useState } from "react";
import type { Activity } from "@gen/flytebinary/insight/v1/overview_pb.js";
import { ProjectService, ProjectState, type Project } from "@gen/flyteidl2/project/project_service_pb.js";
import { problemOf } from "@/api/problem";
import { IconButton, Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { Tag } from "@/design/facts";
import { dateOf } from "@/design/format";
import { Menu, MenuItem } from "@/design/menu";
import { When } from "@/design/time";
import { useNotify } from "@/design/toast";
import { useDenied } from "@/entities/access/use-denied";
import { t } from "@/texts/texts";
import { ActivityBars } from "./activity-bars";
import { ProjectDialog } from "./project-dialog";
import { isArchived } from "./use-projects";
import css from "./home.module.css";

export interface ProjectCardProps {
  readonly project: Project;
  /** Looks up the activity of a domain; undefined while it is unknown. */
  readonly activityOf: ((project: string, domain: string) => Activity | undefined) | undefined;
}

/** A project with its domains and recent activity. */
export function ProjectCard({ project, activityOf }: ProjectCardProps) {
  const [asked, setAsked] = useState<"change" | "archive">();
  const notify = useNotify();
  const queries = useQueryClient();
  const archived = isArchived(project);
  const denied = useDenied(ProjectService.method.updateProject, { project: project.id, domain: "" });
  const update = useMutation(ProjectService.method.updateProject, {
    onSuccess: (_, { project: sent }) => {
      void queries.invalidateQueries({ queryKey: ["projects"] });
      notify("good", sent?.state === ProjectState.ARCHIVED ? t("Project {id} archived", { id: project.id }) : t("Project {id} restored", { id: project.id }));
    },
    onError: (error) => notify("danger", t("Project {id} not changed", { id: project.id }), problemOf(error).message),
  });
  // An update replaces the whole project: send the other fields as well.
  const move = (state: ProjectState) => {
    update.mutate({ project: { ...project, state } });
    setAsked(undefined);
  };
  return (
    <li className={css["project"]} data-testid="project" data-project={project.id} data-archived={archived}>
      <div className={css["heading"]}>
        <h2>{project.name || project.id}</h2>
        {archived && <Tag>{t("archived")}</Tag>}
        <Menu
          trigger={
            <IconButton small label={t("Actions for {id}", { id: project.id })}>
              <EllipsisVertical size={14} aria-hidden />
            </IconButton>
          }
        >
          <MenuItem denied={denied} onSelect={() => setAsked("change")}>
            {t("Edit name and description …")}
          </MenuItem>
          {archived ? (
            <MenuItem denied={denied} onSelect={() => move(ProjectState.ACTIVE)}>
              {t("Restore")}
            </MenuItem>
          ) : (
            <MenuItem denied={denied} onSelect={() => setAsked("archive")}>
              {t("Archive …")}
            </MenuItem>
          )}
        </Menu>
      </div>
      {(project.description || project.name !== project.id) && <p className={css["about"]}>{project.description || project.id}</p>}
      <ul className={css["domains"]} aria-label={t("Domains of {id}", { id: project.id })}>
        {project.domains.map((domain) => (
          <Domain
            key={domain.id}
            project={project.id}
            domain={domain.id}
            name={domain.name || domain.id}
            activity={activityOf?.(project.id, domain.id)}
            known={activityOf !== undefined}
          />
        ))}
      </ul>
      <ProjectDialog project={project} open={asked === "change"} onClose={() => setAsked(undefined)} />
      <Dialog
        open={asked === "archive"}
        onClose={() => setAsked(undefined)}
        title={t("Archive {id}", { id: project.id })}
        description={t("Lists hide it. Its runs and tasks are kept, active runs continue, and it can be restored.")}
      >
        <DialogActions>
          <Button onClick={() => setAsked(undefined)}>{t("Cancel")}</Button>
          <Button kind="danger" onClick={() => move(ProjectState.ARCHIVED)}>
            {t("Archive")}
          </Button>
        </DialogActions>
      </Dialog>
    </li>
  );
}

interface DomainProps {
  readonly project: string;
  readonly domain: string;
  readonly name: string;
  readonly activity: Activity | undefined;
  readonly known: boolean;
}

function Domain({ project, domain, name, activity, known }: DomainProps) {
  const params = { project, domain };
  return (
    <li className={css["domain"]}>
      <Link to="/domain/$domain/project/$project/runs" params={params}>
        {name}
      </Link>
      {known && (activity ? <ActivityBars buckets={activity.buckets} /> : <span className={css["quiet"]}>{t("no runs in the last 24 hours")}</span>)}
      {activity && (
        <span className={css["numbers"]}>
          {activity.running > 0 && (
            <Link to="/domain/$domain/project/$project/runs" params={params} search={{ query: "is:active" }}>
              {t("{running} active", { running: activity.running })}
            </Link>
          )}
          {activity.paused > 0 && (
            <Link to="/domain/$domain/project/$project/runs" params={params} search={{ query: "is:paused" }}>
              {t("{paused} waiting for approval", { paused: activity.paused })}
            </Link>
          )}
          {activity.lastRunAt && (
            <span className={css["quiet"]}>
              {t("last run {when}", { when: <When at={dateOf(activity.lastRunAt)} relative /> })}
            </span>
          )}
        </span>
      )}
    </li>
  );
}
