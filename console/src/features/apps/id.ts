import type { Identifier } from "@gen/flyteidl2/app/app_definition_pb.js";
import type { Place } from "@/app/place";

/** The name of an app in requests. */
export interface AppId extends Place {
  readonly org: string;
  readonly name: string;
}

export const appId = ({ project, domain }: Place, name: string): AppId => ({ org: "flyte", project, domain, name });

/** The parameters of the route to an app's page. */
export const routeTo = ({ project, domain, name }: Pick<Identifier, "project" | "domain" | "name">) => ({ project, domain, app: name });
