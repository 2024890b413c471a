import { Link, useLocation, useNavigate } from "@tanstack/react-router";
import { ChevronDown } from "lucide-react";
import { lazy, Suspense, useLayoutEffect, useRef } from "react";
import { useHere } from "@/app/places";
import { Menu, MenuItem } from "@/design/menu";
import { showSelected } from "@/design/show-selected";
import { useMedia } from "@/design/use-media";
import { InboxLink } from "@/features/inbox/link";
import { t } from "@/texts/texts";
import css from "./shell.module.css";

// Only pages of a place show them, and they bring the language of queries.
const PinnedViews = lazy(async () => ({ default: (await import("@/features/runs/pinned-views")).PinnedViews }));

const inPlace = "/domain/$domain/project/$project";

/** The pages of a project's domain, and below which width of the window they are in a menu; 0 for those that never are. */
const pages = [
  [t("Runs"), `${inPlace}/runs`, 0],
  [t("Problems"), `${inPlace}/problems`, 0],
  [t("Tasks"), `${inPlace}/tasks`, 0],
  [t("Triggers"), `${inPlace}/triggers`, 64],
  [t("Costs"), `${inPlace}/costs`, 64],
  [t("Apps"), `${inPlace}/apps`, 108],
  [t("Pools"), `${inPlace}/pools`, 108],
  [t("Secrets"), `${inPlace}/secrets`, 108],
  [t("Artifacts"), `${inPlace}/artifacts`, 108],
] as const;

/** The pages over all projects that are in the same menu. */
const everywhere = [
  [t("Waiting"), "/waiting"],
  [t("Notifications"), "/notifications"],
] as const;

/** The links to the pages. In a window without room for all of them, the last ones are in a menu; on a phone they scroll. */
export function Navigation() {
  const place = useHere();
  const nav = useRef<HTMLElement>(null);
  const path = useLocation({ select: ({ pathname }) => pathname });
  useLayoutEffect(() => showSelected(nav.current, "[data-status=active]"), [path]);
  const folds = useMedia("(min-width: 48.01rem) and (max-width: 108rem)");
  const narrow = useMedia("(max-width: 64rem)");
  const below = narrow ? 64 : 108;
  return (
    <nav ref={nav} className={css["nav"]} aria-label={t("Main")}>
      {place &&
        pages
          .filter(([, , until]) => !folds || until < below)
          .map(([title, to]) => (
            <Link key={to} to={to} params={place}>
              {title}
            </Link>
          ))}
      {place && folds && <More path={path} below={below} />}
      {place && (
        <Suspense>
          <PinnedViews place={place} />
        </Suspense>
      )}
      <InboxLink />
      {!(place && folds) &&
        everywhere.map(([title, to]) => (
          <Link key={to} to={to}>
            {title}
          </Link>
        ))}
    </nav>
  );
}

/** The other pages. The one that is open is the title of the menu, so that it is seen. */
function More({ path, below }: { readonly path: string; readonly below: number }) {
  const place = useHere();
  const navigate = useNavigate();
  const rest = pages.filter(([, , until]) => until >= below);
  const open = rest.find(([title]) => path.includes(`/project/${place?.project ?? ""}/${title.toLowerCase()}`));
  if (!place) return null;
  return (
    <Menu
      align="start"
      trigger={
        <button type="button" className={css["more"]} data-status={open ? "active" : undefined} aria-label={open ? t("More pages, {open} is open", { open: open[0] }) : t("More pages")}>
          {open ? open[0] : t("More")}
          <ChevronDown size={14} aria-hidden />
        </button>
      }
    >
      {rest.map(([title, to]) => (
        <MenuItem key={to} onSelect={() => void navigate({ to, params: place })}>
          {title}
        </MenuItem>
      ))}
      {everywhere.map(([title, to]) => (
        <MenuItem key={to} onSelect={() => void navigate({ to })}>
          {title}
        </MenuItem>
      ))}
    </Menu>
  );
}
