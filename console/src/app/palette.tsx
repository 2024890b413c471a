import { useNavigate } from "@tanstack/react-router";
import { Dialog } from "@/design/dialog";
import { MenuList } from "./palette-list";

/** Finds everything by typing: runs, tasks, projects and commands. */
export function Palette({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const navigate = useNavigate();
  return (
    <Dialog open={open} onClose={onClose} title="Search or jump to">
      <MenuList
        go={(to) => {
          onClose();
          void navigate({ to });
        }}
      />
    </Dialog>
  );
}
