import { lazy, Suspense } from "react";
import { Dialog } from "@/design/dialog";
import { Loading } from "@/design/notice";

const MenuList = lazy(() => import("./palette-list").then((m) => ({ default: m.MenuList })));

/** Leads to every place, and does what the page can do, by typing its name. */
export function Palette({ open, onClose, onShortcuts }: { readonly open: boolean; readonly onClose: () => void; readonly onShortcuts: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Search or jump to">
      <Suspense fallback={<Loading what="the search" />}>
        <MenuList onDone={onClose} onShortcuts={onShortcuts} />
      </Suspense>
    </Dialog>
  );
}
