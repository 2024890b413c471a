import { Empty } from "@/design/notice";

/** Stands where a screen will be when the server serves what it shows. */
export function Later() {
  return (
    <Empty title="This server does not serve that yet">
      <p>Triggers and apps have no service in this version.</p>
    </Empty>
  );
}
