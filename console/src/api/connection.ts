import { useSyncExternalStore } from "react";

/** Whether what the pages show is current: the streams report here, the banner tells it. */
export interface Connection {
  readonly lost: boolean;
  /** Since when, in milliseconds of the epoch. */
  readonly since: number;
}

const broken = new Set<symbol>();
const listeners = new Set<() => void>();
let current: Connection = { lost: false, since: 0 };

function update(): void {
  const lost = broken.size > 0;
  if (lost === current.lost) return;
  current = { lost, since: Date.now() };
  for (const listener of listeners) listener();
}

/** Says that a stream could not be read. */
export function reportBroken(stream: symbol): void {
  broken.add(stream);
  update();
}

/** Says that it can be read again, or that nobody reads it any more. */
export function reportWhole(stream: symbol): void {
  broken.delete(stream);
  update();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useConnection = (): Connection => useSyncExternalStore(subscribe, () => current);
