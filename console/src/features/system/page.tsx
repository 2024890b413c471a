import { Empty } from "@/design/notice";

export function SystemPage() {
  return <Empty title="SystemPage" />;
}
