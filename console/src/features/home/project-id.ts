import { t } from "@/texts/texts";

/** The error of a project ID; empty if it is valid. */
export function wrongProjectId(id: string): string {
  if (id === "") return t("Enter an ID.");
  if (/[^-a-z0-9]/.test(id)) return t("Use only lower case letters, digits and dashes.");
  if (id.startsWith("-") || id.endsWith("-")) return t("Start and end with a letter or a digit.");
  return id.length > 63 ? t("Use at most 63 characters.") : "";
}

/** Derives a project ID from a name. */
export const idOf = (name: string): string =>
  name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[\u0300-\u036f]/g, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, 63)
    .replace(/-+$/, "");
