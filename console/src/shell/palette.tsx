import { lazy, Suspense, useEffect } from "react";
import { chunk } from "@/api/chunk";
import { Dialog } from "@/design/dialog";
import { Loading } from "@/design/notice";
import { t } from "@/texts/texts";

const load = () => import("./palette-list");
const MenuList = lazy(() => chunk(load).then((m) => ({ default: m.MenuList })));
/** How long after the first paint the palette is preloaded, in milliseconds. */
const preloadDelay = 2000;

/** Opens any page and runs any command of the page by typing its name. */
export function Palette({ open, onClose, onShortcuts }: { readonly open: boolean; readonly onClose: () => void; readonly onShortcuts: () => void }) {
  useEffect(() => {
    // Preload: text typed right after the shortcut must not be lost while the code loads.
    const timer = setTimeout(() => void load().catch(() => undefined), preloadDelay);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Dialog open={open} onClose={onClose} title={t("Search or jump to")}>
      <Suspense fallback={<Loading what={t("search")} />}>
        <MenuList onDone={onClose} onShortcuts={onShortcuts} />
      </Suspense>
    </Dialog>
  );
}
