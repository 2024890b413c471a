/** Labels as text, one per line. */
export const labelText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .sort()
    .map(([key, value]) => `${key}=${value}`)
    .join("\n");

/** Reads labels, one per line; undefined if a line is none, or a key is there twice. */
export function labelsOf(text: string): Record<string, string> | undefined {
  const labels = new Map<string, string>();
  for (const line of text.split("\n").map((each) => each.trim())) {
    if (line === "") continue;
    const at = line.indexOf("=");
    const key = line.slice(0, at).trim();
    if (at < 1 || key === "" || labels.has(key)) return undefined;
    labels.set(key, line.slice(at + 1).trim());
  }
  return Object.fromEntries(labels);
}

/** Reads names that are separated by commas or spaces, each once. */
export const namesOf = (text: string): string[] => [...new Set(text.split(/[\s,]+/).filter((name) => name !== ""))];

/** Reads a weight; undefined if it is none. */
export const weightOf = (text: string): number | undefined => (/^\d{1,4}$/.test(text.trim()) && Number(text) <= 1000 ? Number(text) : undefined);
