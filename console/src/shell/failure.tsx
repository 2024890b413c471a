import { Link, useLocation, type ErrorComponentProps } from "@tanstack/react-router";
import { useHere } from "@/app/places";
import { Empty, ProblemNotice } from "@/design/notice";

/** A page broke while it was drawn. */
export function Failure({ error, reset }: ErrorComponentProps) {
  return (
    <div style={{ padding: "var(--space-5)" }}>
      <ProblemNotice error={error} retry={reset} />
    </div>
  );
}

/** The address of no page. */
export function NotFound() {
  const path = useLocation({ select: ({ pathname }) => pathname });
  const place = useHere();
  return (
    <Empty title="Page not found">
      <p>
        The console has no page <code>{path}</code>.
      </p>
      <p>
        {place && (
          <>
            <Link to="/domain/$domain/project/$project/runs" params={place}>
              Runs of {place.project} / {place.domain}
            </Link>
            {" · "}
          </>
        )}
        <Link to="/">All projects</Link>
      </p>
    </Empty>
  );
}
