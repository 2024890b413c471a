import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import css from "./parts.module.css";

export interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** One sentence below the title. */
  readonly description?: ReactNode;
  readonly wide?: boolean;
  readonly children: ReactNode;
}

/** A modal dialog; Escape and a click outside close it. */
export function Dialog({ open, onClose, title, description, wide = false, children }: DialogProps) {
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className={css["scrim"]} />
        <Radix.Content
          className={`${css["dialog"] ?? ""} ${wide ? (css["wide"] ?? "") : ""}`}
          {...(description === undefined ? { "aria-describedby": undefined } : {})}
        >
          <Radix.Title asChild>
            <h2>{title}</h2>
          </Radix.Title>
          {description !== undefined && (
            <Radix.Description asChild>
              <div className={css["muted"]}>{description}</div>
            </Radix.Description>
          )}
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** The row of buttons at the bottom of a dialog. */
export function DialogActions({ children }: { readonly children: ReactNode }) {
  return <div className={css["actions"]}>{children}</div>;
}
