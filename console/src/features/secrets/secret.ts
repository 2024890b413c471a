import type { SecretIdentifier } from "@gen/flyteidl2/secret/definition_pb.js";
import type { Place } from "@/app/place";
import { t } from "@/texts/texts";
import type { Scope } from "./search";

/** The project and domain of a scope; empty where it has none. */
export function placeOf(scope: Scope, { project, domain }: Place): Place {
  return { project: scope === "project" ? project : "", domain: scope === "organization" ? "" : domain };
}

/** A scope in words. */
export function scopeWords({ project, domain }: Pick<SecretIdentifier, "project" | "domain">): string {
  if (project !== "") return `${project} / ${domain}`;
  return domain === "" ? t("Organization") : t("Domain {domain}", { domain });
}

/** What is wrong with the name of a secret; empty for nothing. */
export function wrongName(name: string): string {
  if (name === "") return t("A name is required.");
  if (name.length > 253) return t("A name has at most 253 characters.");
  return /^[-a-zA-Z0-9_]+$/.test(name) ? "" : t("Use letters, digits, dashes and underscores.");
}

/** The environment variable that a task gets by default. */
export const variableOf = (name: string): string => name.replaceAll("-", "_").toUpperCase();

/** The Docker configuration with the credentials of one registry. */
export function dockerConfig(registry: string, user: string, password: string): string {
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  const auth = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return JSON.stringify({ auths: { [registry]: { auth } } });
}
