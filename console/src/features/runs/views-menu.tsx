import { Bookmark, Pin } from "lucide-react";
import { useState } from "react";
import { ViewService } from "@gen/flytebinary/insight/v1/views_pb.js";
import { problemOf } from "@/api/problem";
import type { Place } from "@/app/place";
import { Button } from "@/design/button";
import { copyText } from "@/design/clipboard";
import { Dialog, DialogActions } from "@/design/dialog";
import { Field, Input } from "@/design/field";
import { Menu, MenuItem } from "@/design/menu";
import { useNotify } from "@/design/toast";
import { useDenied } from "@/entities/access/use-denied";
import { asCurlQuery, asGetRun } from "@/entities/run/query/command";
import { t } from "@/texts/texts";
import type { RunsSearch } from "./search";
import { givenViews, sameSearch, useViews, type View } from "./views";

export interface ViewsMenuProps {
  readonly place: Place;
  readonly search: RunsSearch;
  readonly onChoose: (search: RunsSearch) => void;
}

/** Opens saved views, and saves, pins, shares and copies the current one. */
export function ViewsMenu({ place, search, onChoose }: ViewsMenuProps) {
  const { views, save, remove } = useViews(place);
  const [naming, setNaming] = useState(false);
  const notify = useNotify();
  const noShare = useDenied(ViewService.method.shareView, place);
  const noUnshare = useDenied(ViewService.method.deleteSharedView, place);
  const noSave = useDenied(ViewService.method.saveView, "anywhere");
  const noRemove = useDenied(ViewService.method.deleteView, "anywhere");
  const present = [...views, ...givenViews].find((view) => sameSearch(view.search, search));
  const kept = views.find((view) => view === present);
  const query = search.query ?? "";
  const command = search.sort === undefined ? asGetRun(place, query, Date.now()) : undefined;
  const copy = (text: string, title: string, more: string) =>
    void copyText(text).then((done) =>
      done ? notify("good", title, more) : notify("warning", t("The browser blocked copying"), t("Copy the URL from the address bar.")),
    );
  const change = (work: Promise<void>, done: string) =>
    void work.then(
      () => notify("good", done),
      (error: unknown) => {
        const { title, message } = problemOf(error);
        notify("warning", title, message);
      },
    );
  const own = views.filter(({ shared }) => !shared);
  const shared = views.filter((view) => view.shared);
  const entry = (view: View) => (
    <MenuItem key={`${String(view.shared)}/${view.name}`} onSelect={() => onChoose(view.search)}>
      <span aria-hidden>{view === present ? "●" : "○"}</span>
      {view.name}
      {view.pinned && <Pin size={12} aria-label={t("pinned")} />}
    </MenuItem>
  );
  return (
    <>
      <Menu
        align="start"
        trigger={
          <Button aria-label={t("Views: {name}", { name: present?.name ?? t("unsaved view") })}>
            <Bookmark size={14} aria-hidden />
            {present?.name ?? t("Views")}
          </Button>
        }
      >
        {givenViews.map(entry)}
        {own.length > 0 && <hr />}
        {own.map(entry)}
        {shared.length > 0 && <hr />}
        {shared.map(entry)}
        <hr />
        {!present && <MenuItem onSelect={() => setNaming(true)}>{t("Save this view …")}</MenuItem>}
        {kept && (
          <MenuItem
            denied={kept.shared ? noShare : noSave}
            onSelect={() => change(save({ ...kept, pinned: !kept.pinned }), kept.pinned ? t("Removed from the navigation") : t("Pinned to the navigation"))}
          >
            {kept.pinned ? t("Unpin") : t("Pin")} “{kept.name}”
          </MenuItem>
        )}
        {kept && !kept.shared && (
          <MenuItem denied={noShare} onSelect={() => change(save({ ...kept, shared: true }), t("Everyone in {project} has “{name}”", { project: place.project, name: kept.name }))}>
            {t("Share “{name}” with the project", { name: kept.name })}
          </MenuItem>
        )}
        {kept && (
          <MenuItem denied={kept.shared ? noUnshare : noRemove} onSelect={() => change(remove(kept), t("Deleted “{name}”", { name: kept.name }))}>
            {t("Delete “{name}”", { name: kept.name })}
          </MenuItem>
        )}
        <MenuItem onSelect={() => copy(location.href, t("Link copied"), t("Everyone who opens it sees the same filters."))}>{t("Copy link to this view")}</MenuItem>
        {command !== undefined && <MenuItem onSelect={() => copy(command, t("Command copied"), command)}>{t("Copy as CLI command")}</MenuItem>}
        <MenuItem onSelect={() => copy(asCurlQuery(place, query, location.origin), t("Command copied"), t("It calls the API."))}>{t("Copy as curl")}</MenuItem>
      </Menu>
      <Dialog open={naming} onClose={() => setNaming(false)} title={t("Save this view")} description={t("Yours in every project, or shared with everyone in this one.")}>
        <NameForm
          taken={givenViews.map((view) => view.name)}
          noShare={noShare}
          noSave={noSave}
          project={place.project}
          onSave={(view) => {
            change(save({ ...view, search }), t("Saved “{name}”", { name: view.name }));
            setNaming(false);
          }}
          onCancel={() => setNaming(false)}
        />
      </Dialog>
    </>
  );
}

interface NameFormProps {
  readonly taken: readonly string[];
  readonly project: string;
  readonly noShare: ReturnType<typeof useDenied>;
  readonly noSave: ReturnType<typeof useDenied>;
  readonly onSave: (view: Omit<View, "search">) => void;
  readonly onCancel: () => void;
}

function NameForm({ taken, project, noShare, noSave, onSave, onCancel }: NameFormProps) {
  const [name, setName] = useState("");
  const [shared, setShared] = useState(false);
  const [pinned, setPinned] = useState(false);
  const given = name.trim();
  const wrong = taken.includes(given) ? t("“{name}” is a built-in view. Choose another name.", { name: given }) : "";
  return (
    <form
      style={{ display: "grid", gap: "var(--space-4)" }}
      onSubmit={(event) => {
        event.preventDefault();
        if (given !== "" && wrong === "") onSave({ name: given, shared, pinned });
      }}
    >
      <Field label={t("Name")} error={wrong}>
        {(control) => <Input {...control} maxLength={60} value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      <label>
        <input type="checkbox" checked={shared} disabled={noShare !== undefined} onChange={(event) => setShared(event.target.checked)} /> {t("Share with everyone in {project}", { project })}
      </label>
      <label>
        <input type="checkbox" checked={pinned} onChange={(event) => setPinned(event.target.checked)} /> {t("Pin to the navigation")}
      </label>
      <DialogActions>
        <Button onClick={onCancel}>{t("Cancel")}</Button>
        <Button kind="primary" type="submit" denied={shared ? noShare : noSave} disabled={given === "" || wrong !== ""}>
          {t("Save")}
        </Button>
      </DialogActions>
    </form>
  );
}
