import { useEffect, useRef, useState } from "react";
import type { Problem } from "./problem";
import { follow } from "./watch";

/** What has come of a stream so far. */
export interface Watched<S> {
  readonly state: S | undefined;
  readonly problem: Problem | undefined;
}

/**
 * Follows a stream as long as the component lives, and folds its messages into a state. The stream is opened anew when the
 * key changes; messages that come close together are shown at once, in the next frame.
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
        begin: () => {
          state = undefined;
        },
        take: (message) => {
          state = latest.current.fold(state, message);
          frame ||= requestAnimationFrame(() => {
            frame = 0;
            setWatched({ key, state, problem: undefined });
          });
        },
        fail: (problem) => setWatched({ key, state: undefined, problem }),
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
