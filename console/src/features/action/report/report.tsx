import { Download, ExternalLink } from "lucide-react";
import { Button, buttonClass } from "@/design/button";
import { Empty, Loading, Notice, ProblemNotice } from "@/design/notice";
import type { RunName } from "@/entities/run/kind";
import { save, saveFrom } from "@/design/save";
import type { ActionName } from "@/entities/action/name";
import { allowed, ReportFrame } from "@/entities/frame/report-frame";
import { t } from "@/texts/texts";
import { useReport, type Report } from "./use-report";
import frame from "@/entities/frame/frame.module.css";
import css from "./report.module.css";

export interface ReportViewProps {
  readonly run: RunName;
  readonly action: string;
  readonly attempt: number;
  /** Whether the attempt may still change its report. */
  readonly live: boolean;
}

/** The report of a task, live while it runs. It is isolated from the console: see report-frame.tsx. */
export function ReportView({ run, action, attempt, live }: ReportViewProps) {
  const name: ActionName = { run, name: action };
  const { data, error, isPending, refetch } = useReport(name, attempt, live);
  if (attempt === 0) return <Empty title={t("No report yet")}>{t("The action has not started.")}</Empty>;
  if (error && !data) return <ProblemNotice error={error} retry={() => void refetch()} />;
  if (isPending) return <Loading what={t("report")} />;
  if (!data)
    return (
      <Empty title={live ? t("No report yet") : t("No report")}>
        <p>{live ? t("It appears when the task flushes it.") : t("A report is stored when the task flushes it, and when the attempt succeeds.")}</p>
      </Empty>
    );
  return (
    <section className={css["report"]} data-testid="report">
      <div className={css["head"]}>
        <span className={css["muted"]} role="status">
          {live ? t("Live: updates while the task runs") : ""}
        </span>
        <a className={buttonClass("plain", true)} href={data.url} target="_blank" rel="noopener noreferrer">
          <ExternalLink size={14} aria-hidden /> {t("Open in a new tab")}
        </a>
        <Button small onClick={() => download(data, `${run.name}-${action}-${attempt}.html`)}>
          <Download size={14} aria-hidden /> {t("Download")}
        </Button>
      </div>
      {error && (
        <Notice tone="warning" title={t("Report update failed")} role="status">
          <p>{t("The report may be out of date. The console retries automatically.")}</p>
        </Notice>
      )}
      {data.html === undefined ? (
        <Direct url={data.url} live={live} title={t("Report of {action}", { action })} />
      ) : (
        <ReportFrame html={data.html} title={t("Report of {action}", { action })} />
      )}
    </section>
  );
}

function download(report: Report, name: string): void {
  if (report.html === undefined) saveFrom(report.url, name);
  else save(new Blob([report.html], { type: "text/html" }), name);
}

/** A report that only a frame may load. It is reloaded with each new link, since changes are not visible. */
function Direct({ url, live, title }: { readonly url: string; readonly live: boolean; readonly title: string }) {
  return (
    <>
      {live && (
        <p className={css["muted"]}>
          {t("The report does not update automatically, because the CORS rules of the object store do not allow {origin}. Reopen this tab to refresh it.", { origin: location.origin })}
        </p>
      )}
      <div className={frame["frames"]}>
        <iframe src={url} title={title} sandbox={allowed} referrerPolicy="no-referrer" />
      </div>
    </>
  );
}
