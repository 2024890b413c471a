import { Empty } from "@/design/notice";

export function TaskPage() {
  return <Empty title="TaskPage" />;
}
