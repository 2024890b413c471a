import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { App } from "@gen/flyteidl2/app/app_definition_pb.js";
import type { WatchResponse } from "@gen/flyteidl2/app/app_payload_pb.js";

/** What a stream of apps has sent, by name. Deleted apps are undefined. */
export type Watched = ReadonlyMap<string, App | undefined>;

export const nameOf = (app: App): string => app.metadata?.id?.name ?? "";

/** Adds a message of the stream. The map itself is changed: a stream can begin with thousands of apps. */
export function fold(state: { readonly apps: Watched } | undefined, { event }: WatchResponse): { readonly apps: Watched } {
  const apps = (state?.apps ?? new Map()) as Map<string, App | undefined>;
  switch (event.case) {
    case "createEvent":
      if (event.value.app) apps.set(nameOf(event.value.app), event.value.app);
      break;
    case "updateEvent":
      if (event.value.updatedApp) apps.set(nameOf(event.value.updatedApp), event.value.updatedApp);
      break;
    case "deleteEvent":
      if (event.value.app) apps.set(nameOf(event.value.app), undefined);
      break;
  }
  return { apps };
}

const createdAt = (app: App): number => (app.status?.createdAt ? timestampMs(app.status.createdAt) : 0);

/** Newest first, as the server lists them. */
const order = (a: App, b: App): number => createdAt(b) - createdAt(a) || nameOf(a).localeCompare(nameOf(b));

/**
 * The rows of the list: what was listed, as the stream has it now, and what came since. While there are more pages, apps that
 * are older than the last row belong to those.
 */
export function merged(listed: readonly App[], more: boolean, watched: Watched, belongs: (app: App) => boolean): readonly App[] {
  const rows = new Map(listed.map((app) => [nameOf(app), app]));
  const oldest = more ? Math.min(...listed.map(createdAt)) : -Infinity;
  for (const [name, app] of watched) {
    if (app === undefined || !belongs(app)) rows.delete(name);
    else if (rows.has(name) || createdAt(app) >= oldest) rows.set(name, app);
  }
  return [...rows.values()].sort(order);
}
