import { useQuery } from "@connectrpc/connect-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { ChevronsUpDown } from "lucide-react";
import { ProjectService } from "@gen/flyteidl2/project/project_service_pb.js";
import { Button } from "@/design/button";
import { Menu, MenuItem } from "@/design/menu";
import { lastPlace } from "./place";

/** Says in which project and domain one is, and leads to the others. */
export function PlaceMenu() {
  const navigate = useNavigate();
  const params = useParams({ strict: false });
  const here = params.project !== undefined && params.domain !== undefined ? { project: params.project, domain: params.domain } : lastPlace();
  const projects = useQuery(ProjectService.method.listProjects, { limit: 100 });
  const places = (projects.data?.projects?.projects ?? []).flatMap((project) => project.domains.map((domain) => ({ project: project.id, domain: domain.id })));
  if (!here) return null;
  return (
    <Menu
      align="start"
      trigger={
        <Button kind="quiet" aria-label={`${here.project} / ${here.domain}: go to another project or domain`}>
          {here.project} / {here.domain}
          <ChevronsUpDown size={14} aria-hidden />
        </Button>
      }
    >
      {places.map((place) => (
        <MenuItem key={`${place.project}/${place.domain}`} onSelect={() => void navigate({ to: "/domain/$domain/project/$project/runs", params: place })}>
          {place.project} / {place.domain}
        </MenuItem>
      ))}
      <MenuItem onSelect={() => void navigate({ to: "/" })}>All projects …</MenuItem>
    </Menu>
  );
}
