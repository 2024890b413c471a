import { useQuery } from "@connectrpc/connect-query";
import { Command } from "cmdk";
import { ProjectService } from "@gen/flyteidl2/project/project_service_pb.js";
import type { Place } from "./place";
import css from "./palette.module.css";

/** The entries of the palette: the runs of every project's domain. */
export function MenuList({ go }: { readonly go: (place: Place | undefined) => void }) {
  const projects = useQuery(ProjectService.method.listProjects, { limit: 500 });
  const places = (projects.data?.projects?.projects ?? []).flatMap((project) => project.domains.map((domain) => ({ project: project.id, domain: domain.id })));
  return (
    <Command label="Search or jump to">
      <Command.Input className={css["input"]} placeholder="Type the name of a project or a domain" />
      <Command.List className={css["list"]}>
        <Command.Empty>Nothing found.</Command.Empty>
        <Command.Item className={css["item"]} onSelect={() => go(undefined)}>
          All projects
        </Command.Item>
        {places.map((place) => (
          <Command.Item key={`${place.project}/${place.domain}`} className={css["item"]} onSelect={() => go(place)}>
            Runs of {place.project} / {place.domain}
          </Command.Item>
        ))}
      </Command.List>
    </Command>
  );
}
