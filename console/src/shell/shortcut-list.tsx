import { Fragment } from "react";
import { Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { keysInWords, useShortcuts } from "@/app/shortcuts";
import { t } from "@/texts/texts";
import css from "./palette.module.css";

export function ShortcutList({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title={t("Keyboard shortcuts")} description={t("Available on this page.")}>
      <List />
      <DialogActions>
        <Button kind="primary" onClick={onClose}>
          {t("Close")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}

function List() {
  const shortcuts = useShortcuts();
  return (
    <dl className={css["shortcuts"]}>
      {shortcuts.map(({ keys, words }) => (
        <Fragment key={keys}>
          <dt>
            {keysInWords(keys).map((key, at) => (
              <kbd key={at}>{key}</kbd>
            ))}
          </dt>
          <dd>{words}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
