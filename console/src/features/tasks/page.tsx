import { Empty } from "@/design/notice";

export function TasksPage() {
  return <Empty title="TasksPage" />;
}
