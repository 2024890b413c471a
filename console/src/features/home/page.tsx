import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { ProjectService } from "@gen/flyteidl2/project/project_service_pb.js";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { lastPlace } from "@/app/place";
import css from "./home.module.css";

/** The projects with their domains, the one that was visited last first. */
export function HomePage() {
  const answer = useQuery(ProjectService.method.listProjects, { limit: 500 });
  const last = lastPlace();
  const projects = [...(answer.data?.projects?.projects ?? [])].sort((a, b) => Number(b.id === last?.project) - Number(a.id === last?.project));
  return (
    <div className={css["page"]}>
      <h1>Projects</h1>
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what="the projects" />}
      {answer.isSuccess && projects.length === 0 && <Empty title="There are no projects" command="flyte create project --id my-project --name 'My project'" />}
      <ul className={css["projects"]}>
        {projects.map((project) => (
          <li key={project.id} className={css["project"]}>
            <h2>{project.name || project.id}</h2>
            <p className={css["about"]}>{project.description || project.id}</p>
            <ul className={css["domains"]} aria-label={`Domains of ${project.id}`}>
              {project.domains.map((domain) => (
                <li key={domain.id}>
                  <Link to="/domain/$domain/project/$project/runs" params={{ domain: domain.id, project: project.id }}>
                    {domain.name || domain.id}
                  </Link>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </div>
  );
}
