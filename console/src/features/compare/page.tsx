import { Empty } from "@/design/notice";

export function ComparePage() {
  return <Empty title="ComparePage" />;
}
