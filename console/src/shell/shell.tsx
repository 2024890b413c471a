import { Link, Outlet } from "@tanstack/react-router";
import { Activity, Search, Workflow } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useConnection } from "@/api/connection";
import { Button, buttonClass } from "@/design/button";
import { When } from "@/design/time";
import { Tooltip } from "@/design/tooltip";
import { t } from "@/texts/texts";
import { useAlertSetting } from "@/features/inbox/alerts/setting";
import { AccountMenu } from "./account-menu";
import { Navigation } from "./navigation";
import { NoRole } from "./no-role";
import { OpenBanner } from "./open-banner";
import { Palette } from "./palette";
import { PlaceMenu } from "./place-menu";
import { useDestinations, type Destination } from "@/app/places";
import { PreferencesMenu } from "./preferences-menu";
import { SessionEnded } from "./session-ended";
import { Zone } from "./zone";
import { ShortcutList } from "./shortcut-list";
import { useShortcut } from "@/app/shortcuts";
import css from "./shell.module.css";

// Only for those who want notifications of the browser.
const AlertWatch = lazy(async () => ({ default: (await import("@/features/inbox/alerts/watch")).AlertWatch }));

/** The frame around every page: navigation, search, and the banner for a lost connection. */
export function Shell() {
  const [open, setOpen] = useState<"palette" | "shortcuts">();
  const close = () => setOpen(undefined);
  useShortcut("mod+k", () => setOpen("palette"), t("Search or jump to"));
  useShortcut(
    "/",
    () => {
      // The filter of the page, if it has one.
      const filter = document.querySelector<HTMLElement>("[data-filter], main input[type=search]");
      if (filter) filter.focus();
      else setOpen("palette");
    },
    t("Focus the filter of this page"),
  );
  useShortcut("?", () => setOpen("shortcuts"), t("Show keyboard shortcuts"));
  const destinations = useDestinations();
  const alerts = useAlertSetting() === "on";
  return (
    <div className={css["shell"]}>
      <a className={css["skip"]} href="#main">
        {t("Skip to content")}
      </a>
      <header className={css["header"]}>
        <Link to="/" className={css["brand"]} aria-label={t("flyte-binary, all projects")}>
          <Workflow size={18} aria-hidden />
          <span>{t("flyte-binary")}</span>
        </Link>
        <PlaceMenu />
        <Navigation />
        <div className={css["spacer"]} />
        <Button className={css["search"]} onClick={() => setOpen("palette")}>
          <Search size={14} aria-hidden />
          <span>{t("Search")}</span>
          <kbd aria-hidden>{/Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘K" : t("Ctrl K")}</kbd>
        </Button>
        <Tooltip text={t("System")}>
          <Link to="/system" className={buttonClass("quiet", false, css["system"])} aria-label={t("System")}>
            <Activity size={16} aria-hidden />
          </Link>
        </Tooltip>
        <Zone />
        <PreferencesMenu />
        <AccountMenu />
      </header>
      <div>
        <OpenBanner />
        <LostConnection />
      </div>
      <main id="main" className={css["main"]} tabIndex={-1}>
        <NoRole />
        <Outlet />
      </main>
      {destinations.map((destination) => (
        <GoTo key={destination.keys} {...destination} />
      ))}
      <Palette open={open === "palette"} onClose={close} onShortcuts={() => setOpen("shortcuts")} />
      <SessionEnded />
      {alerts && (
        <Suspense fallback={null}>
          <AlertWatch />
        </Suspense>
      )}
      <ShortcutList open={open === "shortcuts"} onClose={close} />
    </div>
  );
}

function GoTo({ keys, title, go }: Destination) {
  useShortcut(keys, go, title);
  return null;
}

function LostConnection() {
  const { lost, since } = useConnection();
  return (
    <div role="status" aria-live="polite">
      {lost && (
        <div className={css["lost"]}>
          {t("Connection to the server lost at {when}. This page may be out of date. Reconnecting …", { when: <When at={new Date(since)} /> })}
        </div>
      )}
    </div>
  );
}
