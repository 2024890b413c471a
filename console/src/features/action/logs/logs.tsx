import { Empty } from "@/design/notice";
import type { TabProps } from "../panel";

/** The log of an attempt. */
export function LogsTab({ attempt }: TabProps & { readonly line?: number | undefined }) {
  return <Empty title={`Attempt ${attempt}`} />;
}
