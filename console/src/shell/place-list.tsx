import { Command } from "cmdk";
import { useDeferredValue, useState } from "react";
import { useProjects } from "@/features/home/use-projects";
import type { Place } from "@/app/place";
import { t } from "@/texts/texts";
import css from "./palette.module.css";

/** A searchable list of the domains of all projects. */
export function PlaceList({ here, go }: { readonly here: Place; readonly go: (place: Place | undefined) => void }) {
  const [typed, setTyped] = useState("");
  const looked = useDeferredValue(typed);
  const { projects, loading, more, loadMore } = useProjects(looked);
  const [marked, setMarked] = useState(`${here.project}/${here.domain}`);
  const values = projects.flatMap((project) => project.domains.map((domain) => `${project.id}/${domain.id}`));
  return (
    <Command
      label={t("Projects and domains")}
      shouldFilter={false}
      value={[...values, "more", "all"].includes(marked) ? marked : (values[0] ?? "all")}
      onValueChange={setMarked}
    >
      <Command.Input className={css["input"]} placeholder={t("Find project")} value={typed} onValueChange={setTyped} />
      <Command.List className={css["list"]}>
        {!loading && <Command.Empty className={css["nothing"]}>{t("No results")}</Command.Empty>}
        {projects.map((project) => (
          <Command.Group key={project.id} heading={project.name || project.id} className={css["group"]}>
            {project.domains.map((domain) => (
              <Command.Item
                key={domain.id}
                value={`${project.id}/${domain.id}`}
                className={css["item"]}
                onSelect={() => go({ project: project.id, domain: domain.id })}
              >
                {domain.name || domain.id}
                {project.id === here.project && domain.id === here.domain && <span className={css["hint"]}>{t("current")}</span>}
              </Command.Item>
            ))}
          </Command.Group>
        ))}
        {more && (
          <Command.Item className={css["item"]} value="more" onSelect={loadMore}>
            {t("More projects")}
          </Command.Item>
        )}
        {typed === "" && (
          <Command.Item className={css["item"]} value="all" onSelect={() => go(undefined)}>
            {t("All projects")}
          </Command.Item>
        )}
      </Command.List>
    </Command>
  );
}
