import { Download, ExternalLink } from "lucide-react";
import { Button, buttonClass } from "@/design/button";
import { Empty, Loading, Notice, ProblemNotice } from "@/design/notice";
import type { RunName } from "@/features/run/model/use-run-model";
import { save, saveFrom } from "../save";
import type { ActionName } from "../use-action";
import { allowed, ReportFrame } from "./report-frame";
import { useReport, type Report } from "./use-report";
import css from "./report.module.css";

export interface ReportViewProps {
  readonly run: RunName;
  readonly action: string;
  readonly attempt: number;
  /** Whether the attempt may still change its report. */
  readonly live: boolean;
}

/** What a task wrote to be looked at, renewed while it runs. It cannot reach the console: see report-frame.tsx. */
export function ReportView({ run, action, attempt, live }: ReportViewProps) {
  const name: ActionName = { run, name: action };
  const { data, error, isPending, refetch } = useReport(name, attempt, live);
  if (attempt === 0) return <Empty title="There is no report yet">The action has not begun.</Empty>;
  if (error && !data) return <ProblemNotice error={error} retry={() => void refetch()} />;
  if (isPending) return <Loading what="the report" />;
  if (!data)
    return (
      <Empty title={live ? "There is no report yet" : "There is no report"}>
        <p>{live ? "It is shown here as soon as the task flushes it." : "This attempt ended without one: a report is kept when the task flushes it, and when it succeeds."}</p>
      </Empty>
    );
  return (
    <section className={css["report"]} data-testid="report">
      <div className={css["head"]}>
        <span className={css["muted"]} role="status">
          {live ? "Renewed while the task runs" : ""}
        </span>
        <a className={buttonClass("plain", true)} href={data.url} target="_blank" rel="noopener noreferrer">
          <ExternalLink size={14} aria-hidden /> Open in a new tab
        </a>
        <Button small onClick={() => keep(data, `${run.name}-${action}-${attempt}.html`)}>
          <Download size={14} aria-hidden /> Download
        </Button>
      </div>
      {error && (
        <Notice tone="warning" title="The report could not be renewed" role="status">
          <p>What is shown may be out of date. It is tried again.</p>
        </Notice>
      )}
      {data.html === undefined ? <Direct url={data.url} live={live} title={`Report of ${action}`} /> : <ReportFrame html={data.html} title={`Report of ${action}`} />}
    </section>
  );
}

function keep(report: Report, name: string): void {
  if (report.html === undefined) saveFrom(report.url, name);
  else save(new Blob([report.html], { type: "text/html" }), name);
}

/** A report that only a frame may load. It is renewed when the link is, since nothing tells that it has changed. */
function Direct({ url, live, title }: { readonly url: string; readonly live: boolean; readonly title: string }) {
  return (
    <>
      {live && <p className={css["muted"]}>The store does not let this page see changes of the report (its CORS rules do not name {location.origin}). Open this view again to renew it.</p>}
      <div className={css["frames"]}>
        <iframe src={url} title={title} sandbox={allowed} referrerPolicy="no-referrer" />
      </div>
    </>
  );
}
