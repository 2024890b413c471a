import { useState, type ComponentProps } from "react";
import { t } from "@/texts/texts";
import type { Denial } from "./denial";
import { Popover } from "./popover";
import { Tooltip } from "./tooltip";
import css from "./parts.module.css";

export type ButtonKind = "plain" | "primary" | "danger" | "quiet";

export interface ButtonProps extends ComponentProps<"button"> {
  readonly kind?: ButtonKind;
  readonly small?: boolean;
  /** Why the reader may not press it. The button then does nothing but say so, and whom to ask. */
  readonly denied?: Denial | undefined;
}

export const buttonClass = (kind: ButtonKind = "plain", small = false, more = ""): string =>
  [css["button"], kind !== "plain" && css[kind], small && css["small"], more].filter(Boolean).join(" ");

export function Button({ denied, ...props }: ButtonProps) {
  return denied === undefined ? <Plain {...props} /> : <Denied denial={denied} {...props} />;
}

function Plain({ kind = "plain", small = false, className = "", type = "button", ...rest }: Omit<ButtonProps, "denied">) {
  return <button type={type} className={buttonClass(kind, small, className)} {...rest} />;
}

/** It can be focused and pressed, so that those with a keyboard or a phone learn the reason. */
function Denied({ denial: { why, more, call }, ...props }: Omit<ButtonProps, "denied"> & { readonly denial: Denial }) {
  const [open, setOpen] = useState(false);
  const [hovered, setHovered] = useState(false);
  return (
    <Tooltip text={why} open={hovered && !open} onOpenChange={setHovered}>
      <Popover
        open={open}
        onOpenChange={setOpen}
        label={t("Why you may not do this")}
        trigger={<Plain {...props} type="button" disabled={false} aria-disabled aria-description={why} data-denied={call} onClick={(event) => event.stopPropagation()} />}
      >
        <div className={css["denial"]}>
          <p>{why}</p>
          {more}
        </div>
      </Popover>
    </Tooltip>
  );
}

/** A button with an icon; its label is the tooltip and the accessible name. */
export function IconButton({ label, className = "", kind = "quiet", ...rest }: ButtonProps & { readonly label: string }) {
  return (
    <Tooltip text={label}>
      <Button aria-label={label} kind={kind} className={`${css["icon"] ?? ""} ${className}`} {...rest} />
    </Tooltip>
  );
}
