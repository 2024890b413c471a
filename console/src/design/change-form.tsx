import { useState, type ReactNode } from "react";
import { t } from "@/texts/texts";
import { Button } from "./button";
import { DialogActions } from "./dialog";
import { ProblemNotice } from "./notice";
import { useNotify } from "./toast";
import css from "./page.module.css";

export interface ChangeProps {
  readonly onClose: () => void;
  /** The list has to be read again. */
  readonly onChanged: () => void;
}

/** Sends a change, then says that it is done and closes the dialog. The request is kept nowhere, since it may have a secret. */
export function useChange({ onClose, onChanged }: ChangeProps) {
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<unknown>();
  const notify = useNotify();
  const change = (send: () => Promise<unknown>, done: string): void => {
    setPending(true);
    setError(undefined);
    send().then(
      () => {
        notify("good", done);
        onChanged();
        onClose();
      },
      (problem: unknown) => {
        setError(problem);
        setPending(false);
      },
    );
  };
  return { pending, error, change };
}

interface ChangeFormProps {
  readonly label: string;
  readonly kind?: "primary" | "danger";
  readonly pending: boolean;
  readonly error: unknown;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** The form of a dialog that changes something. */
export function ChangeForm({ label, kind = "primary", pending, error, onSubmit, onClose, children }: ChangeFormProps) {
  return (
    <form
      className={css["section"]}
      autoComplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        if (!pending) onSubmit();
      }}
    >
      {children}
      {error !== undefined && <ProblemNotice error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("Cancel")}</Button>
        <Button kind={kind} type="submit" disabled={pending}>
          {label}
        </Button>
      </DialogActions>
    </form>
  );
}
