import { Empty } from "@/design/notice";

export function HomePage() {
  return <Empty title="HomePage" />;
}
