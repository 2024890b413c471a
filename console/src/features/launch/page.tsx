import { Empty } from "@/design/notice";

export function LaunchPage() {
  return <Empty title="LaunchPage" />;
}
