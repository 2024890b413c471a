import { Link, useLocation, type ErrorComponentProps } from "@tanstack/react-router";
import { useHere } from "@/app/places";
import { Empty, ProblemNotice } from "@/design/notice";
import { t } from "@/texts/texts";

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
    <Empty title={t("Page not found")}>
      <p>
        {t("The console has no page {code}.", { code: <code>{path}</code> })}
      </p>
      <p>
        {place && (
          <>
            <Link to="/domain/$domain/project/$project/runs" params={place}>
              {t("Runs of {project} / {domain}", { project: place.project, domain: place.domain })}
            </Link>
            {" · "}
          </>
        )}
        <Link to="/">{t("All projects")}</Link>
      </p>
    </Empty>
  );
}
