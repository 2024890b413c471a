import type { ReactNode } from "react";
import css from "./system.module.css";

/** A table that may be wider than the screen. */
export function Wide({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable region must be reachable by keyboard
    <div className={css["scroll"]} role="group" aria-label={label} tabIndex={0}>
      <table className={css["table"]}>{children}</table>
    </div>
  );
}
