import { Bookmark } from "lucide-react";
import { useState } from "react";
import { Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { Field, Input } from "@/design/field";
import { Menu, MenuItem } from "@/design/menu";
import { useNotify } from "@/design/toast";
import type { RunsSearch } from "./search";
import { givenViews, sameSearch, useViews } from "./views";

/** Opens saved views, and saves the current one. */
export function ViewsMenu({ search, onChoose }: { readonly search: RunsSearch; readonly onChoose: (search: RunsSearch) => void }) {
  const { views, save, remove } = useViews();
  const [naming, setNaming] = useState(false);
  const notify = useNotify();
  const present = [...views, ...givenViews].find((view) => sameSearch(view.search, search));
  const kept = views.find((view) => view === present);
  const share = () =>
    void navigator.clipboard.writeText(location.href).then(
      () => notify("good", "Link copied", "Everyone who opens it sees the same filters."),
      () => notify("warning", "The browser blocked copying", "Copy the URL from the address bar."),
    );
  return (
    <>
      <Menu
        align="start"
        trigger={
          <Button aria-label={`Views: ${present?.name ?? "unsaved view"}`}>
            <Bookmark size={14} aria-hidden />
            {present?.name ?? "Views"}
          </Button>
        }
      >
        {[...givenViews, ...views].map((view) => (
          <MenuItem key={view.name} onSelect={() => onChoose(view.search)}>
            <span aria-hidden>{view === present ? "●" : "○"}</span>
            {view.name}
          </MenuItem>
        ))}
        <hr />
        {!present && <MenuItem onSelect={() => setNaming(true)}>Save this view …</MenuItem>}
        <MenuItem onSelect={share}>Copy link to this view</MenuItem>
        {kept && <MenuItem onSelect={() => remove(kept.name)}>Delete “{kept.name}”</MenuItem>}
      </Menu>
      <Dialog open={naming} onClose={() => setNaming(false)} title="Save this view" description="Saved in this browser. To share it, copy its link.">
        <NameForm
          taken={givenViews.map((view) => view.name)}
          onSave={(name) => {
            save({ name, search });
            setNaming(false);
          }}
          onCancel={() => setNaming(false)}
        />
      </Dialog>
    </>
  );
}

function NameForm({ taken, onSave, onCancel }: { readonly taken: readonly string[]; readonly onSave: (name: string) => void; readonly onCancel: () => void }) {
  const [name, setName] = useState("");
  const given = name.trim();
  const wrong = taken.includes(given) ? `“${given}” is a built-in view. Choose another name.` : "";
  return (
    <form
      style={{ display: "grid", gap: "var(--space-4)" }}
      onSubmit={(event) => {
        event.preventDefault();
        if (given !== "" && wrong === "") onSave(given);
      }}
    >
      <Field label="Name" error={wrong}>
        {(control) => <Input {...control} maxLength={60} value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <DialogActions>
        <Button onClick={onCancel}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={given === "" || wrong !== ""}>
          Save
        </Button>
      </DialogActions>
    </form>
  );
}
