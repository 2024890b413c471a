/** What is wrong with the id of a project; empty when nothing is. */
export function wrongProjectId(id: string): string {
  if (id === "") return "A project has an id.";
  if (/[^-a-z0-9]/.test(id)) return "An id has lower case letters, digits and dashes.";
  if (id.startsWith("-") || id.endsWith("-")) return "An id begins and ends with a letter or a digit.";
  return id.length > 63 ? "An id has at most 63 characters." : "";
}

/** An id made of a name. */
export const idOf = (name: string): string =>
  name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[\u0300-\u036f]/g, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, 63)
    .replace(/-+$/, "");
