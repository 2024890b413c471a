import { ProblemNotice } from "@/design/notice";
import { t } from "@/texts/texts";
import { NoPreviewError } from "./source";
import css from "./data-view.module.css";

/** Why there is no preview. What the file itself causes is not a fault of the console, and trying again does not help. */
export function PreviewProblem({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  if (error instanceof NoPreviewError) {
    return (
      <p className={css["muted"]} role="status">
        {t("No preview. {message}", { message: error.message })}
      </p>
    );
  }
  return <ProblemNotice error={error} {...(retry && { retry })} />;
}
