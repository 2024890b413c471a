import { Empty } from "@/design/notice";

/** The page of a feature that this version does not have. */
export function Later() {
  return (
    <Empty title="Not available in this version">
      <p>This version has no apps.</p>
    </Empty>
  );
}
