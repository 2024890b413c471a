import { Markdown } from "@/design/markdown";
import { count } from "@/design/format";
import { ReportFrame } from "@/entities/frame/report-frame";
import { t } from "@/texts/texts";
import type { Notebook, NotebookCell, NotebookOutput } from "./notebook";
import css from "./data-view.module.css";

/** A notebook to read: nothing in it runs in the console. */
export function NotebookView({ notebook }: { readonly notebook: Notebook }) {
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable region must be reachable by keyboard
    <div className={css["notebook"]} data-testid="notebook-preview" tabIndex={0} role="group" aria-label={t("Notebook")}>
      {notebook.cells.map((cell, at) => (
        <Cell key={at} cell={cell} />
      ))}
      {notebook.total > notebook.cells.length && (
        <p className={css["muted"]}>
          {t("The first {cells} of {total} cells.", { cells: count(notebook.cells.length), total: count(notebook.total) })}
        </p>
      )}
    </div>
  );
}

function Cell({ cell }: { readonly cell: NotebookCell }) {
  if (cell.kind === "markdown") return <Markdown text={cell.source} />;
  return (
    <div className={css["cell"]}>
      <span className={css["run"]}>{cell.kind === "code" ? `[${cell.run ?? " "}]` : ""}</span>
      <pre className={css["code"]}>{cell.source}</pre>
      {cell.outputs.map((output, at) => (
        <div key={at} className={css["output"]}>
          <Output output={output} />
        </div>
      ))}
    </div>
  );
}

function Output({ output }: { readonly output: NotebookOutput }) {
  switch (output.show) {
    case "text":
      return <pre className={output.wrong ? css["wrong"] : undefined}>{output.text}</pre>;
    case "image":
      return <img src={output.url} alt={t("Output of the cell")} className={css["image"]} />;
    case "html":
      return <ReportFrame html={output.html} title={t("Output of the cell")} />;
    case "nothing":
      return <p className={css["muted"]}>{t("This output cannot be shown: {types}", { types: output.types || t("it is empty") })}</p>;
  }
}
