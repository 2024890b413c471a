import { useEffect, useRef, useState } from "react";
import type { Problem } from "./problem";
import { follow } from "./watch";

/** The state of a watched stream. */
export interface Watched<S> {
  readonly state: S | undefined;
  readonly problem: Problem | undefined;
}

/**
 * Follows a stream while the component is mounted, and folds its messages into a state. The stream is reopened when the key
 * changes. Messages that arrive within a frame are rendered together.
 */
export function useWatch<T, S>(
  key: string,
  open: (signal: AbortSignal) => AsyncIterable<T>,
  fold: (state: S | undefined, message: T) => S,
): Watched<S> {
  const [watched, setWatched] = useState<Watched<S> & { key: string }>({ key, state: undefined, problem: undefined });
  const latest = useRef({ open, fold });
  useEffect(() => {
    latest.current = { open, fold };
  });
  useEffect(() => {
    const control = new AbortController();
    let state: S | undefined;
    let frame = 0;
    void follow<T>(
      {
        open: (signal) => latest.current.open(signal),
        onOpen: () => {
          state = undefined;
        },
        onMessage: (message) => {
          state = latest.current.fold(state, message);
          frame ||= requestAnimationFrame(() => {
            frame = 0;
            setWatched({ key, state, problem: undefined });
          });
        },
        onFailure: (problem) => setWatched({ key, state: undefined, problem }),
      },
      control.signal,
    );
    return () => {
      control.abort();
      cancelAnimationFrame(frame);
    };
  }, [key]);
  return watched.key === key ? watched : { state: undefined, problem: undefined };
}
