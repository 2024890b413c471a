const prefix = "flyte-console:";

/** What this browser remembers under a name, if it is still of the right form. */
export function read<T>(name: string, valid: (value: unknown) => value is T): T | undefined {
  try {
    const text = localStorage.getItem(prefix + name);
    const value: unknown = text === null ? undefined : JSON.parse(text);
    return valid(value) ? value : undefined;
  } catch {
    return undefined; // no storage, or somebody else's writing
  }
}

/** Remembers a value; undefined forgets. A browser that keeps nothing is no error. */
export function write(name: string, value: unknown): void {
  try {
    if (value === undefined) localStorage.removeItem(prefix + name);
    else localStorage.setItem(prefix + name, JSON.stringify(value));
  } catch {
    // full, or forbidden
  }
}
