import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { useEffect, useRef, useState, type ReactNode } from "react";
import type { Found } from "@gen/flytebinary/insight/v1/overview_pb.js";
import { RunSource } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { Phase } from "@/design/phase";
import { Tag } from "@/design/facts";
import { useProjects } from "@/features/home/use-projects";
import { routeOf } from "@/entities/run/kind";
import { t } from "@/texts/texts";
import { pathOf } from "./address";
import { findCommands, fits, useOffered } from "@/app/commands";
import { useDestinations, useHere } from "@/app/places";
import { usePreferences, zones } from "@/app/preferences";
import { keysInWords } from "@/app/shortcuts";
import { useFound } from "./use-found";
import css from "./palette.module.css";

interface Entry<T = ReactNode> {
  readonly key: string;
  readonly text: T;
  readonly hint?: ReactNode;
  readonly run: () => void;
}

const mostPlaces = 12;

/** The pages, runs, tasks, apps and commands that match what is typed. */
export function MenuList({ onDone, onShortcuts }: { readonly onDone: () => void; readonly onShortcuts: () => void }) {
  const [typed, setTyped] = useState("");
  const navigate = useNavigate();
  const here = useHere();
  const { found, looking } = useFound(typed, here);
  const path = pathOf(typed);
  const groups: readonly (readonly [heading: string, entries: readonly Entry[]])[] = [
    [t("Pasted"), path === undefined ? [] : [{ key: "pasted", text: t("Go to {path}", { path }), run: () => void navigate({ href: path }) }]],
    [t("On this page"), usePageEntries(typed)],
    [
      t("Runs"),
      found
        .filter(({ kind }) => kind === "run")
        .map((each) =>
          runEntry(
            each,
            () => void navigate({ to: routeOf({ tracked: isTracked(each) }), params: { domain: each.domain, project: each.project, run: each.name } }),
          ),
        ),
    ],
    [
      t("Tasks"),
      found
        .filter(({ kind }) => kind === "task")
        .map((each) => ({
          key: `task ${each.project}/${each.domain}/${each.name}`,
          text: each.name,
          hint: `${each.project} / ${each.domain}`,
          run: () =>
            void navigate({ to: "/domain/$domain/project/$project/tasks/$task", params: { domain: each.domain, project: each.project, task: each.name } }),
        })),
    ],
    [
      t("Apps"),
      found
        .filter(({ kind }) => kind === "app")
        .map((each) => ({
          key: `app ${each.project}/${each.domain}/${each.name}`,
          text: each.name,
          hint: `${each.project} / ${each.domain}`,
          run: () =>
            void navigate({ to: "/domain/$domain/project/$project/apps/$app", params: { domain: each.domain, project: each.project, app: each.name } }),
        })),
    ],
    [t("Go to"), usePlaceEntries(typed)],
    [t("Settings"), useSettingEntries(typed, onShortcuts)],
  ];
  // The highlighted entry may disappear while typing; then the first one is highlighted.
  const [marked, setMarked] = useState("");
  const keys = groups.flatMap(([, entries]) => entries.map(({ key }) => key));
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  return (
    <Command label={t("Search or jump to")} shouldFilter={false} loop value={keys.includes(marked) ? marked : (keys[0] ?? "")} onValueChange={setMarked}>
      <Command.Input
        ref={input}
        className={css["input"]}
        placeholder={t("Search runs, tasks, apps, projects, pages and commands")}
        value={typed}
        onValueChange={(next) => {
          setTyped(next);
          setMarked("");
        }}
      />
      <Command.List className={css["list"]}>
        {!looking && <Command.Empty className={css["nothing"]}>{t("No results")}</Command.Empty>}
        {groups
          .filter(([, entries]) => entries.length > 0)
          .map(([heading, entries]) => (
            <Command.Group key={heading} heading={heading} className={css["group"]}>
              {entries.map((entry) => (
                <Command.Item
                  key={entry.key}
                  value={entry.key}
                  className={css["item"]}
                  onSelect={() => {
                    onDone();
                    entry.run();
                  }}
                >
                  {entry.text}
                  {entry.hint !== undefined && <span className={css["hint"]}>{entry.hint}</span>}
                </Command.Item>
              ))}
            </Command.Group>
          ))}
      </Command.List>
    </Command>
  );
}

const isTracked = ({ runSource }: Found): boolean => runSource === RunSource.TRACKED;

const runEntry = (each: Found, run: () => void): Entry => ({
  key: `${isTracked(each) ? "tracked run" : "run"} ${each.project}/${each.domain}/${each.name}`,
  text: (
    <>
      <Phase compact phase={each.phase} /> {each.title} <span className={css["name"]}>{each.name}</span> {isTracked(each) && <Tag>{t("Tracked")}</Tag>}
    </>
  ),
  hint: `${each.project} / ${each.domain}`,
  run,
});

function usePageEntries(typed: string): readonly Entry[] {
  return useOffered()
    .filter(({ title, also }) => fits(typed, `${title} ${also ?? ""}`))
    .concat(typed.trim() === "" ? [] : findCommands(typed))
    .map(({ title, key, run }) => ({ key: `do ${key ?? title}`, text: title, run }));
}

function usePlaceEntries(typed: string): readonly Entry[] {
  const navigate = useNavigate();
  const pages = useDestinations()
    .filter(({ title }) => fits(typed, t("go to {title}", { title })))
    .map(({ title, keys, go }): Entry => ({ key: `page ${title}`, text: title, hint: <Keys keys={keys} />, run: go }));
  // The last word may be a domain.
  const { projects } = useProjects(typed.trim().split(/[\s/]+/)[0] ?? "");
  const everywhere = useProjects("");
  const places = [...new Map([...projects, ...everywhere.projects].map((project) => [project.id, project])).values()]
    .flatMap((project) =>
      project.domains.map((domain) => ({ project: project.id, domain: domain.id, title: t("Runs of {project} / {domain}", { project: project.id, domain: domain.id }), name: project.name })),
    )
    .filter(({ title, name }) => fits(typed, `${title} ${name}`))
    .slice(0, mostPlaces)
    .map((place): Entry => ({
      key: `place ${place.project}/${place.domain}`,
      text: place.title,
      run: () => void navigate({ to: "/domain/$domain/project/$project/runs", params: { project: place.project, domain: place.domain } }),
    }));
  return [...pages, ...places];
}

function useSettingEntries(typed: string, onShortcuts: () => void): readonly Entry[] {
  const { theme, zone, setTheme, setZone } = usePreferences();
  const entries: Entry<string>[] = [
    ...(
      [
        ["system", t("Theme: system")],
        ["light", t("Theme: light")],
        ["dark", t("Theme: dark")],
      ] as const
    )
      .filter(([key]) => key !== theme)
      .map(([key, text]) => ({ key: `theme ${key}`, text, run: () => setTheme(key) })),
    ...(zone === undefined ? [] : [{ key: "zone", text: t("Time zone: browser"), run: () => setZone(undefined) }]),
    // There are hundreds of zones: list them only for a search.
    ...(typed.trim().length < 2 ? ["UTC"] : zones())
      .filter((name) => name !== zone)
      .map((name) => ({ key: `zone ${name}`, text: t("Time zone: {name}", { name }), run: () => setZone(name) })),
    { key: "shortcuts", text: t("Keyboard shortcuts"), hint: <Keys keys="?" />, run: onShortcuts },
  ];
  return entries.filter(({ text }) => fits(typed, text)).slice(0, 8);
}

export function Keys({ keys }: { readonly keys: string }) {
  return keysInWords(keys).map((key, at) => (
    <span key={at}>
      {at > 0 && " "}
      <kbd>{key}</kbd>
    </span>
  ));
}
