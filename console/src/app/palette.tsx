import { useNavigate } from "@tanstack/react-router";
import { Dialog } from "@/design/dialog";
import { MenuList } from "./palette-list";

/** Leads to every place by typing its name. */
export function Palette({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const navigate = useNavigate();
  return (
    <Dialog open={open} onClose={onClose} title="Search or jump to">
      <MenuList
        go={(place) => {
          onClose();
          void (place ? navigate({ to: "/domain/$domain/project/$project/runs", params: place }) : navigate({ to: "/" }));
        }}
      />
    </Dialog>
  );
}
