import type { RunName } from "@/features/run/model/use-run-model";
import { Empty } from "@/design/notice";

export interface CodeViewProps {
  readonly run: RunName;
  readonly action: string;
}

/** The code that an action ran. */
export function CodeView({ action }: CodeViewProps) {
  return <Empty title={`No code of ${action}`} />;
}
