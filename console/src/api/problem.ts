import { Code, ConnectError } from "@connectrpc/connect";
import { SentenceSchema } from "@gen/flytebinary/insight/v1/sentence_pb.js";
import { fill, t } from "@/texts/texts";
import { language } from "@/texts/language";
import { partsOf, sayClauses, sayMessage, sayParts, type Said } from "@/texts/server";

/** An error for people: what is wrong, and what to do. */
export interface Problem {
  readonly title: string;
  readonly message: string;
  /** The language of the message if that is not the page's. */
  readonly lang?: "en";
  readonly advice: string;
  /** Whether the error is temporary, so that a retry may succeed. */
  readonly passing: boolean;
  /** Whether the same request fails again whatever happens meanwhile, as far as people can wait: a retry is of no use. */
  readonly final: boolean;
  readonly code: Code;
}

const advice: Partial<Record<Code, [title: string, advice: string]>> = {
  [Code.InvalidArgument]: [t("Invalid request"), t("Correct the field that the message names.")],
  [Code.NotFound]: [t("Not found"), t("Check the address. It may have been deleted, by a person or by retention.")],
  [Code.AlreadyExists]: [t("Already exists"), t("Choose another name.")],
  [Code.FailedPrecondition]: [t("Not possible in the current state"), t("Check its phase, and retry when it has changed.")],
  [Code.PermissionDenied]: [t("Permission denied"), t("The account menu shows your roles, and whom to ask for more.")],
  [Code.Unauthenticated]: [t("Not signed in"), t("Sign in and retry.")],
  [Code.ResourceExhausted]: [t("Limit reached"), t("Retry later. An operator of the installation can raise the limit that the message names.")],
  [Code.Aborted]: [t("Conflict"), t("It changed meanwhile. Reload and retry.")],
  [Code.Unimplemented]: [t("Not available in this version"), t("The server does not support this request.")],
  [Code.Unavailable]: [t("Server unreachable"), t("The console retries automatically. If the problem persists, check the server log.")],
  [Code.DeadlineExceeded]: [t("Timed out"), t("Retry. If the problem persists, check the system page.")],
};

/** What is not there does not come back, and what is wrong in a request stays wrong. */
const final: ReadonlySet<Code> = new Set([Code.NotFound, Code.InvalidArgument, Code.OutOfRange, Code.AlreadyExists, Code.Unimplemented, Code.DataLoss]);

/** A message without parts, whose clauses may each blame a field, as in "run_id.name: value is required; task.env: ...". Fields stay as they are. */
function sayBlame(message: string): Said {
  const [, field = "", words = message] = /^((?:[a-z_][\w.]*|\[(?:\d+|"[^"]*")\])+: )(.*)$/s.exec(message) ?? [];
  if (!partsOf(words) && words.includes("; ")) return sayClauses(message, sayBlame);
  const said = sayMessage(words);
  return { ...said, text: `${field}${said.text}` };
}

/** The message of an error in the language of the page. The field that it blames stays before it. */
function messageOf(error: ConnectError): Pick<Problem, "message" | "lang"> {
  const message = error.rawMessage;
  if (language === "en") return { message };
  const [parts] = error.findDetails(SentenceSchema);
  if (!parts) {
    const { text, ...lang } = sayBlame(message);
    return { message: text, ...lang };
  }
  const english = fill(parts.text, Object.fromEntries(parts.values.map((value, at) => [String(at + 1), value]))) as string;
  const { text, lang } = sayParts(parts);
  if (lang !== undefined || !message.endsWith(english)) return { message, lang: "en" };
  return { message: message.slice(0, message.length - english.length) + text };
}

export function problemOf(error: unknown): Problem {
  const known = ConnectError.from(error);
  // A browser only reports "failed to fetch" if nothing answers.
  const code = known.code === Code.Unknown && !(error instanceof ConnectError) ? Code.Unavailable : known.code;
  const [title, words] = advice[code] ?? [t("Unexpected error"), t("Retry. If the problem persists, check the server log.")];
  return {
    title,
    ...messageOf(known),
    advice: words,
    passing: code === Code.Unavailable || code === Code.DeadlineExceeded || code === Code.Canceled,
    final: final.has(code),
    code,
  };
}
