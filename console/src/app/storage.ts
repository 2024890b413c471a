const prefix = "flyte-console:";

/** Reads a value that this browser stored; undefined if there is none, or if it is no longer valid. */
export function read<T>(name: string, valid: (value: unknown) => value is T): T | undefined {
  try {
    const text = localStorage.getItem(prefix + name);
    const value: unknown = text === null ? undefined : JSON.parse(text);
    return valid(value) ? value : undefined;
  } catch {
    return undefined; // no storage, or not written by the console
  }
}

/** Stores a value in this browser; undefined deletes it. Failures are ignored. */
export function write(name: string, value: unknown): void {
  try {
    if (value === undefined) localStorage.removeItem(prefix + name);
    else localStorage.setItem(prefix + name, JSON.stringify(value));
  } catch {
    // full, or forbidden
  }
}
