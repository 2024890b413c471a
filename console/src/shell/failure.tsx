import { Link, type ErrorComponentProps } from "@tanstack/react-router";
import { Empty, ProblemNotice } from "@/design/notice";

/** A page broke while it was drawn. */
export function Failure({ error, reset }: ErrorComponentProps) {
  return (
    <div style={{ padding: "var(--space-5)" }}>
      <ProblemNotice error={error} retry={reset} />
    </div>
  );
}

export function NotFound() {
  return (
    <Empty title="Page not found">
      <Link to="/">All projects</Link>
    </Empty>
  );
}
