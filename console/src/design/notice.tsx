import type { ReactNode } from "react";
import { problemOf, type Problem } from "@/api/problem";
import { t } from "@/texts/texts";
import { Button } from "./button";
import { CopyButton } from "./copy";
import type { Denial } from "./denial";
import css from "./parts.module.css";

export type Tone = "plain" | "danger" | "warning" | "good";

/** A message in a box, with a title. */
export function Notice({
  tone = "plain",
  title,
  children,
  role,
}: {
  readonly tone?: Tone;
  readonly title?: ReactNode;
  readonly children?: ReactNode;
  readonly role?: "alert" | "status";
}) {
  return (
    <div className={`${css["notice"] ?? ""} ${tone === "plain" ? "" : (css[`${tone}-notice`] ?? "")}`} role={role}>
      {title !== undefined && <strong>{title}</strong>}
      {children}
    </div>
  );
}

/** What a page shows in place of what the reader may not see. */
export function DenialNotice({ title, denial }: { readonly title: string; readonly denial: Denial }) {
  return (
    <div data-denied={denial.call}>
      <Notice title={title} role="status">
        <p>{denial.why}</p>
        {denial.more}
      </Notice>
    </div>
  );
}

/** An error of the API with its advice, and a retry where it can help. The children follow it, such as a link back. */
export function ProblemNotice({ error, retry, children }: { readonly error: unknown; readonly retry?: () => void; readonly children?: ReactNode }) {
  const problem: Problem = isProblem(error) ? error : problemOf(error);
  return (
    <Notice tone="danger" title={problem.title} role="alert">
      <p lang={problem.lang}>{problem.message}</p>
      <p className={css["muted"]}>{problem.advice}</p>
      {children && <p>{children}</p>}
      {retry && !problem.final && (
        <div>
          <Button small onClick={retry}>
            {t("Retry")}
          </Button>
        </div>
      )}
    </Notice>
  );
}

const isProblem = (error: unknown): error is Problem => typeof error === "object" && error !== null && "advice" in error && "title" in error;

/** An empty state, with a command to change that. */
export function Empty({ title, command, children }: { readonly title: string; readonly command?: string; readonly children?: ReactNode }) {
  return (
    <div className={css["empty"]}>
      <strong>{title}</strong>
      {children}
      {command !== undefined && <Command text={command} />}
    </div>
  );
}

/** A shell command with a copy button. */
export function Command({ text }: { readonly text: string }) {
  return (
    <span className={css["command"]}>
      <code data-testid="command">{text}</code>
      <CopyButton text={text} label={t("Copy command")} />
    </span>
  );
}

/** The text while something loads. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p role="status" className={css["muted"]}>
      {t("Loading {what} …", { what })}
    </p>
  );
}
