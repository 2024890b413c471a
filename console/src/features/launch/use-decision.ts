import { useEffect, useState } from "react";

/** How long a decision can be undone, in milliseconds. */
export const undoTime = 10_000;

/** A decision that is sent after a while, unless it is undone. */
export interface Decision<T> {
  readonly value: T;
  /** When it is sent. */
  readonly at: number;
}

/**
 * Holds a decision back for undoTime. It is dropped, not sent, if the component goes: a decision that is no longer seen was not
 * confirmed. The same happens to one of a page that is closed.
 */
export function useDecision<T>(send: (value: T) => void) {
  const [held, setHeld] = useState<Decision<T>>();
  useEffect(() => {
    if (!held) return undefined;
    const timer = setTimeout(() => {
      setHeld(undefined);
      send(held.value);
    }, held.at - Date.now());
    return () => clearTimeout(timer);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- send is a new function each time
  }, [held]);
  return {
    held,
    hold: (value: T) => setHeld({ value, at: Date.now() + undoTime }),
    undo: () => setHeld(undefined),
    now: () => {
      if (!held) return;
      setHeld(undefined);
      send(held.value);
    },
  };
}
