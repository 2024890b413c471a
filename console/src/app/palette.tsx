import { lazy, Suspense, useEffect } from "react";
import { Dialog } from "@/design/dialog";
import { Loading } from "@/design/notice";

const load = () => import("./palette-list");
const MenuList = lazy(() => load().then((m) => ({ default: m.MenuList })));
/** When the page has settled, in milliseconds after it is drawn. */
const settled = 2000;

/** Leads to every place, and does what the page can do, by typing its name. */
export function Palette({ open, onClose, onShortcuts }: { readonly open: boolean; readonly onClose: () => void; readonly onShortcuts: () => void }) {
  useEffect(() => {
    // What is typed right after the keys that open it must not be lost on the way.
    const timer = setTimeout(() => void load().catch(() => undefined), settled);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Dialog open={open} onClose={onClose} title="Search or jump to">
      <Suspense fallback={<Loading what="the search" />}>
        <MenuList onDone={onClose} onShortcuts={onShortcuts} />
      </Suspense>
    </Dialog>
  );
}
