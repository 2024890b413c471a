import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import { Empty } from "@/design/notice";
import { t } from "@/texts/texts";

/** The end of a sign-in in a tab of its own, which closes if the browser lets it. */
export function SignedIn() {
  useEffect(() => window.close(), []);
  return (
    <Empty title={t("You are signed in")}>
      <p>{t("The page that you came from continues. You can close this tab.")}</p>
      <Link to="/">{t("All projects")}</Link>
    </Empty>
  );
}
