import { Code, ConnectError } from "@connectrpc/connect";

/** An error as a person should meet it: what was wrong, and what to do. */
export interface Problem {
  readonly title: string;
  readonly message: string;
  readonly advice: string;
  /** Whether trying again may help by itself. */
  readonly passing: boolean;
  readonly code: Code;
}

const advice: Partial<Record<Code, [title: string, advice: string]>> = {
  [Code.InvalidArgument]: ["The request is not valid", "Correct the field that is named."],
  [Code.NotFound]: ["It does not exist", "It may have been deleted by retention, or the address has a mistake."],
  [Code.AlreadyExists]: ["It exists already", "Choose another name."],
  [Code.FailedPrecondition]: ["That is not possible now", "Look at its state, and try again when it has changed."],
  [Code.PermissionDenied]: ["You may not do that", "Ask who runs this installation for the permission."],
  [Code.Unauthenticated]: ["You are not signed in", "Sign in, and try again."],
  [Code.ResourceExhausted]: ["There is no room now", "A limit is reached. Wait, or raise the limit of the queue."],
  [Code.Aborted]: ["Somebody was faster", "It changed meanwhile. Load it again."],
  [Code.Unimplemented]: ["This installation cannot do that", "The server does not serve it."],
  [Code.Unavailable]: ["The server cannot be reached", "It is tried again by itself. If it lasts, look at the server's log."],
  [Code.DeadlineExceeded]: ["The answer took too long", "Try again. If it lasts, look at the system page."],
};

export function problemOf(error: unknown): Problem {
  const known = ConnectError.from(error);
  // A browser says no more than "failed to fetch" when nothing answers.
  const code = known.code === Code.Unknown && !(error instanceof ConnectError) ? Code.Unavailable : known.code;
  const [title, words] = advice[code] ?? ["Something went wrong", "Try again. If it lasts, look at the server's log."];
  return {
    title,
    message: known.rawMessage,
    advice: words,
    passing: code === Code.Unavailable || code === Code.DeadlineExceeded || code === Code.Canceled,
    code,
  };
}
