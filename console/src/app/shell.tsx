import { Link, Outlet, useParams } from "@tanstack/react-router";
import { Search, Workflow } from "lucide-react";
import { useState } from "react";
import { useConnection } from "@/api/connection";
import { Button } from "@/design/button";
import { When } from "@/design/time";
import { lastPlace } from "./place";
import { Palette } from "./palette";
import { PlaceMenu } from "./place-menu";
import { PreferencesMenu } from "./preferences-menu";
import { useShortcut } from "./shortcuts";
import css from "./shell.module.css";

/** What is around every page: where one is, where one can go, and whether what is shown is current. */
export function Shell() {
  const [searching, setSearching] = useState(false);
  useShortcut("mod+k", () => setSearching(true));
  useShortcut("/", () => {
    // The page's own filter, where it has one.
    const filter = document.querySelector<HTMLElement>("[data-filter]");
    if (filter) filter.focus();
    else setSearching(true);
  });
  return (
    <div className={css["shell"]}>
      <a className={css["skip"]} href="#main">
        Skip to the content
      </a>
      <header className={css["header"]}>
        <Link to="/" className={css["brand"]} aria-label="flyte-binary, all projects">
          <Workflow size={18} aria-hidden />
          <span>flyte-binary</span>
        </Link>
        <PlaceMenu />
        <Navigation />
        <div className={css["spacer"]} />
        <Button className={css["search"]} onClick={() => setSearching(true)}>
          <Search size={14} aria-hidden />
          <span>Search</span>
          <kbd aria-hidden>{/Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘K" : "Ctrl K"}</kbd>
        </Button>
        <PreferencesMenu />
      </header>
      <LostConnection />
      <main id="main" className={css["main"]} tabIndex={-1}>
        <Outlet />
      </main>
      <Palette open={searching} onClose={() => setSearching(false)} />
    </div>
  );
}

function Navigation() {
  const params = useParams({ strict: false });
  const place = params.project !== undefined && params.domain !== undefined ? { project: params.project, domain: params.domain } : lastPlace();
  return (
    <nav className={css["nav"]} aria-label="Main">
      {place && (
        <>
          <Link to="/domain/$domain/project/$project/runs" params={place}>
            Runs
          </Link>
          <Link to="/domain/$domain/project/$project/tasks" params={place}>
            Tasks
          </Link>
        </>
      )}
    </nav>
  );
}

function LostConnection() {
  const { lost, since } = useConnection();
  return (
    <div role="status" aria-live="polite">
      {lost && (
        <div className={css["lost"]}>
          The connection to the server is lost since <When at={new Date(since)} />. What is shown may be out of date. Trying again …
        </div>
      )}
    </div>
  );
}
