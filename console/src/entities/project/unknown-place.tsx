import { Code } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { ProjectService } from "@gen/flyteidl2/project/project_service_pb.js";
import { problemOf } from "@/api/problem";
import type { Place } from "@/app/place";
import { Empty } from "@/design/notice";
import { t } from "@/texts/texts";

/** Whether a place exists, as far as the server said; lists of an unknown place are empty, not an error. */
export interface PlaceCheck {
  readonly checking: boolean;
  /** Why there is no such place; undefined if there is one. */
  readonly unknown: string | undefined;
}

/** Checks that a project and its domain exist. Pages enable it while their list is empty. */
export function usePlaceCheck({ project, domain }: Place, enabled: boolean): PlaceCheck {
  const answer = useQuery(ProjectService.method.getProject, { id: project }, { enabled });
  if (!enabled) return { checking: false, unknown: undefined };
  const missing = answer.error !== null && problemOf(answer.error).code === Code.NotFound;
  const foreign = answer.data?.project?.domains.every((known) => known.id !== domain) === true;
  return {
    checking: answer.isLoading,
    unknown: missing ? t("There is no project {project}", { project }) : foreign ? t("Project {project} has no domain {domain}", { project, domain }) : undefined,
  };
}

/** Says that a project or domain does not exist. */
export function UnknownPlace({ title }: { readonly title: string }) {
  return (
    <Empty title={title}>
      <p>
        {t("Check the URL, or choose from {link}.", { link: <Link to="/">{t("all projects")}</Link> })}
      </p>
    </Empty>
  );
}
