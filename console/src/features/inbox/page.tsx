import { Empty } from "@/design/notice";

export function InboxPage() {
  return <Empty title="InboxPage" />;
}
