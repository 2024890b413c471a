/** The console path of pasted text, if it is a URL or a path of the console. */
export function pathOf(text: string): string | undefined {
  const [, path] = /^\s*(?:https?:\/\/[^/\s]+)?(\/v2\/(?:domain|projects?|system|inbox)[^\s]*)\s*$/.exec(text) ?? [];
  return path;
}

/** Whether a text looks like a run's name. */
export const isRunName = (text: string): boolean => /^[a-z][-a-z0-9]{3,29}$/.test(text.trim());
