import { Empty } from "@/design/notice";

export function RunPage() {
  return <Empty title="RunPage" />;
}
