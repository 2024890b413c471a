/** What a text that was pasted leads to: a path of the console, when it is an address of it, or the beginning of one. */
export function pathOf(text: string): string | undefined {
  const [, path] = /^\s*(?:https?:\/\/[^/\s]+)?(\/v2\/(?:domain|projects?|system|inbox)[^\s]*)\s*$/.exec(text) ?? [];
  return path;
}

/** Whether a text looks like a run's name. */
export const isRunName = (text: string): boolean => /^[a-z][-a-z0-9]{3,29}$/.test(text.trim());
