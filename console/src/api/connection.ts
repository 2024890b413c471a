import { useSyncExternalStore } from "react";

/** The state of the connection. Streams report to it, the banner shows it. */
export interface Connection {
  readonly lost: boolean;
  /** When the state last changed, in milliseconds since the epoch. */
  readonly since: number;
}

// One failed stream is enough: the page then shows something that may be out of date.
const broken = new Set<symbol>();
const listeners = new Set<() => void>();
let current: Connection = { lost: false, since: 0 };

function update(): void {
  const lost = broken.size > 0;
  if (lost === current.lost) return;
  current = { lost, since: Date.now() };
  for (const listener of listeners) listener();
}

export function reportBroken(stream: symbol): void {
  broken.add(stream);
  update();
}

/** Reports that a stream works again, or that it is no longer read. */
export function reportWhole(stream: symbol): void {
  broken.delete(stream);
  update();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useConnection = (): Connection => useSyncExternalStore(subscribe, () => current);
