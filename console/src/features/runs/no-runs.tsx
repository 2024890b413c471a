import { Code } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { ProjectService } from "@gen/flyteidl2/project/project_service_pb.js";
import { problemOf } from "@/api/problem";
import type { Place } from "@/app/place";
import { Empty, Loading } from "@/design/notice";
import { shellWord } from "@/entities/action/copy-as";

/** Why a place has no runs at all: it does not exist, or nothing ran yet. */
export function NoRuns({ place: { project, domain } }: { readonly place: Place }) {
  const answer = useQuery(ProjectService.method.getProject, { id: project });
  if (answer.isLoading) return <Loading what="project" />;
  if (answer.error && problemOf(answer.error).code === Code.NotFound) return <Unknown title={`There is no project ${project}`} />;
  if (answer.data?.project?.domains.every((known) => known.id !== domain)) return <Unknown title={`Project ${project} has no domain ${domain}`} />;
  return (
    <Empty title="No runs yet" command={`flyte run -p ${shellWord(project)} -d ${shellWord(domain)} hello.py main`}>
      <p>New runs appear here immediately.</p>
    </Empty>
  );
}

function Unknown({ title }: { readonly title: string }) {
  return (
    <Empty title={title}>
      <p>
        Check the URL, or choose from <Link to="/">all projects</Link>.
      </p>
    </Empty>
  );
}
