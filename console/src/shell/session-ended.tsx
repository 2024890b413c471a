import { signedInPage, signInPath, useSessionEnded } from "@/api/session";
import { Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { t } from "@/texts/texts";

/** Covers the page while its session has ended. People sign in in another tab, so that the page keeps what was typed into it. */
export function SessionEnded() {
  const ended = useSessionEnded();
  return (
    <Dialog
      open={ended}
      onClose={() => undefined}
      title={t("Your session has ended")}
      description={t("Sign in again in a new tab. This page stays as it is, and continues by itself.")}
    >
      <DialogActions>
        <Button kind="primary" onClick={() => window.open(signInPath(signedInPage), "_blank")}>
          {t("Sign in")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
