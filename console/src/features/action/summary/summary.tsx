import { attemptOf } from "../use-action";
import type { TabProps } from "../panel";
import { Failure } from "./failure";

/** What happened to an action, and why: the error first. */
export function Summary({ details, attempt, onChange }: TabProps) {
  const error = attemptOf(details, attempt)?.errorInfo ?? (details.result.case === "errorInfo" ? details.result.value : undefined);
  return <>{error && <Failure error={error} onLook={(tab) => onChange({ tab })} />}</>;
}
