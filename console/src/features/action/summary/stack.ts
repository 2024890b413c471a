import { ExceptionRelation, type RaisedException, type StackFrame } from "@gen/flytebinary/insight/v1/failures_pb.js";
import { t } from "@/texts/texts";

/** Frames as they are shown: those of the task one by one, those of libraries between them folded together. */
export type Part = { readonly kind: "own"; readonly frame: StackFrame } | { readonly kind: "library"; readonly frames: readonly StackFrame[] };

export function folded(frames: readonly StackFrame[]): readonly Part[] {
  const parts: Part[] = [];
  for (const frame of frames) {
    const last = parts.at(-1);
    if (frame.own) parts.push({ kind: "own", frame });
    else if (last?.kind === "library") parts[parts.length - 1] = { kind: "library", frames: [...last.frames, frame] };
    else parts.push({ kind: "library", frames: [frame] });
  }
  return parts;
}

/** The exception as Python prints it. */
export const exceptionTitle = ({ type, message }: Pick<RaisedException, "type" | "message">): string => (message === "" ? type : `${type}: ${message}`);

const relations: Record<ExceptionRelation, string> = {
  [ExceptionRelation.UNSPECIFIED]: "",
  [ExceptionRelation.CAUSE]: t("Caused by"),
  [ExceptionRelation.CONTEXT]: t("Raised while handling"),
};

export const relationWords = (relation: ExceptionRelation): string => relations[relation];

interface Line {
  readonly number: number;
  readonly text: string;
}

const before = 3;
const behind = 2;

/**
 * The line of a frame with those around it. Empty if the file does not have the line as the traceback printed it: then the code ran
 * from another file of that name.
 */
export function around(text: string, { line, code }: Pick<StackFrame, "line" | "code">): readonly Line[] {
  const lines = text.split("\n");
  const failed = lines[line - 1];
  if (failed === undefined || (code !== "" && !failed.includes(code.split("\n")[0] ?? ""))) return [];
  const from = Math.max(0, line - 1 - before);
  return lines.slice(from, line + behind).map((one, at) => ({ number: from + at + 1, text: one }));
}
