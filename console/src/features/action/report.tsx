import type { RunName } from "@/features/run/model/use-run-model";
import { Empty } from "@/design/notice";

export interface ReportViewProps {
  readonly run: RunName;
  readonly action: string;
  /** From 1; 0 when there is no attempt yet. */
  readonly attempt: number;
  /** Whether the report may still change. */
  readonly live: boolean;
}

/** The report that an attempt wrote. */
export function ReportView({ attempt }: ReportViewProps) {
  return <Empty title={attempt === 0 ? "It has not begun" : "No report"} />;
}
