import { Empty } from "@/design/notice";

export function RunsPage() {
  return <Empty title="RunsPage" />;
}
