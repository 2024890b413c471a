import type { GetMeResponse, Role, Scope } from "@gen/flytebinary/access/v1/access_pb.js";
import { t } from "@/texts/texts";

/** Where something is done; an empty part means everywhere. */
export interface Where {
  readonly project: string;
  readonly domain: string;
}

/** The whole installation. */
export const everywhere: Where = { project: "", domain: "" };

/** Whether a scope has all of a place in it. */
export const covers = (scope: Where, place: Where): boolean =>
  (scope.project === "" || scope.project === place.project) && (scope.domain === "" || scope.domain === place.domain);

export const whereOf = (scope: Scope | undefined): Where => ({ project: scope?.project ?? "", domain: scope?.domain ?? "" });

/** Whether the caller has a permission in all of a place, or, for calls about the caller's own things, anywhere at all. */
export const can = (me: Pick<GetMeResponse, "open" | "grants">, permission: string, place: Where | "anywhere"): boolean =>
  me.open || me.grants.some(({ scope, permissions }) => (place === "anywhere" || covers(whereOf(scope), place)) && permissions.includes(permission));

const builtIn = ["viewer", "runner", "contributor", "admin", "operator"];

/** The permissions that only a role with every permission gives: to decide about local accounts, as the server has them. */
const ofOperators = ["account.create", "account.delete", "account.update"];

/** Whether a permission is for operators alone, and not for roles of one's own. */
export const isOfOperators = (permission: string): boolean => ofOperators.includes(permission);

/** Whether a role gives a permission. Roles have permissions as noun.verb, noun.* or *.verb. */
export function gives(role: Pick<Role, "permissions">, permission: string): boolean {
  if (isOfOperators(permission)) return role.permissions.includes("*.*");
  const [noun, verb] = permission.split(".");
  return role.permissions.some((pattern) => {
    const [n, v] = pattern.split(".");
    return (n === "*" || n === noun) && (v === "*" || v === verb);
  });
}

/** The name of the smallest role that gives a permission: a built-in one if there is one. */
export function roleFor(roles: readonly Role[], permission: string): string | undefined {
  const names = roles.filter((role) => gives(role, permission)).map(({ name }) => name);
  return builtIn.find((name) => names.includes(name)) ?? names[0];
}

/** A place in words. */
export function placeWords(place: Where | "anywhere"): string {
  if (place === "anywhere") return t("any project");
  const { project, domain } = place;
  if (project !== "" && domain !== "") return `${project}/${domain}`;
  if (project !== "") return project;
  return domain === "" ? t("the whole installation") : t("the domain {domain} of every project", { domain });
}

/** Whom to ask for more rights, in a sentence. */
export const askWords = (me: Pick<GetMeResponse, "ask"> | undefined, place: Where | "anywhere"): string =>
  me?.ask || (place === "anywhere" || place.project === "" ? t("Ask an operator of this installation.") : t("Ask an admin of {project}.", { project: place.project }));
