import { Facts } from "@/design/facts";
import type { TabProps } from "../panel";
import { attemptOf } from "../use-action";

/** Where an attempt runs, and with what. */
export function PodTab({ details, attempt }: TabProps) {
  const context = attemptOf(details, attempt)?.logContext;
  return <Facts facts={[["Pod", context?.primaryPodName]]} />;
}
