import { Code, ConnectError } from "@connectrpc/connect";

/** An error for people: what is wrong, and what to do. */
export interface Problem {
  readonly title: string;
  readonly message: string;
  readonly advice: string;
  /** Whether the error is temporary, so that a retry may succeed. */
  readonly passing: boolean;
  readonly code: Code;
}

const advice: Partial<Record<Code, [title: string, advice: string]>> = {
  [Code.InvalidArgument]: ["Invalid request", "Correct the field that the message names."],
  [Code.NotFound]: ["Not found", "Check the address. It may have been deleted, by a person or by retention."],
  [Code.AlreadyExists]: ["Already exists", "Choose another name."],
  [Code.FailedPrecondition]: ["Not possible in the current state", "Check its phase, and retry when it has changed."],
  [Code.PermissionDenied]: ["Permission denied", "The account menu shows your roles, and whom to ask for more."],
  [Code.Unauthenticated]: ["Not signed in", "Sign in and retry."],
  [Code.ResourceExhausted]: ["Limit reached", "Retry later. An operator of the installation can raise the limit that the message names."],
  [Code.Aborted]: ["Conflict", "It changed meanwhile. Reload and retry."],
  [Code.Unimplemented]: ["Not available in this version", "The server does not support this request."],
  [Code.Unavailable]: ["Server unreachable", "The console retries automatically. If the problem persists, check the server log."],
  [Code.DeadlineExceeded]: ["Timed out", "Retry. If the problem persists, check the system page."],
};

export function problemOf(error: unknown): Problem {
  const known = ConnectError.from(error);
  // A browser only reports "failed to fetch" if nothing answers.
  const code = known.code === Code.Unknown && !(error instanceof ConnectError) ? Code.Unavailable : known.code;
  const [title, words] = advice[code] ?? ["Unexpected error", "Retry. If the problem persists, check the server log."];
  return {
    title,
    message: known.rawMessage,
    advice: words,
    passing: code === Code.Unavailable || code === Code.DeadlineExceeded || code === Code.Canceled,
    code,
  };
}
