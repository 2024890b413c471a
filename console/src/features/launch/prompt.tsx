import { lazy, Suspense } from "react";
import { ConditionPromptType, type ConditionAction } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import css from "./signal.module.css";

const Markdown = lazy(async () => ({ default: (await import("@/design/markdown")).Markdown }));

/** What a condition asks. Markdown is shown as elements, never as HTML: tasks write prompts. */
export function Prompt({ condition: { prompt, promptType } }: { readonly condition: ConditionAction }) {
  if (prompt === "") return null;
  const plain = <p className={css["prompt"]}>{prompt}</p>;
  if (promptType !== ConditionPromptType.MARKDOWN) return plain;
  return (
    <Suspense fallback={plain}>
      <Markdown text={prompt} />
    </Suspense>
  );
}
