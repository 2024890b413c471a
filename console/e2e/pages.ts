import { readFileSync } from "node:fs";
import { join } from "node:path";
import { preparedApp, type Prepared } from "./setup";

const router = readFileSync(join(import.meta.dirname, "../src/shell/router.tsx"), "utf8");
const inPlace = "/domain/$domain/project/$project";

/** The path of every route of the console, as its router has them. */
export const routes: readonly string[] = [...router.matchAll(/getParentRoute: \(\) => (\w+),\s*path: "([^"]*)"/g)]
  .map(([, parent = "", path = ""]) => (parent === "place" ? `${inPlace}${path}` : path))
  .filter((path) => path !== inPlace);

/** What a page needs to have something on it. */
const queries = (runs: Prepared): Readonly<Record<string, string>> => ({
  [`${inPlace}/launch`]: "?task=shown.squares",
  [`${inPlace}/compare`]: `?a=${runs.squares}&b=${runs.failing}`,
  [`${inPlace}/runs/$run`]: "?action=a0",
  [`${inPlace}/tracked-runs/$run`]: "?action=a0",
});

/** A parameter of a path that only some routes have another value for. */
const special: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [`${inPlace}/triggers/$task/$name`]: { task: "triggered.read", name: "on_figures" },
};

/** The address of a route, with the data that the tests have prepared. It fails for a parameter of which it knows nothing. */
export function addressOf(route: string, runs: Prepared): string {
  const known: Readonly<Record<string, string>> = {
    domain: "development",
    project: "flytesnacks",
    run: runs.asking,
    task: "shown.squares",
    version: "first",
    app: preparedApp,
    artifact: "shown-figures",
    problem: "1",
    cluster: "default",
    ...special[route],
  };
  const path = route.replaceAll(/\$(\w+)/g, (_, name: string) => {
    const value = known[name];
    if (value === undefined) throw new Error(`the tests have nothing for $${name} of the route ${route}`);
    return value;
  });
  return `/v2${path}${queries(runs)[route] ?? ""}`;
}
