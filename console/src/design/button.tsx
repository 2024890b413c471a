import type { ComponentProps } from "react";
import { Tooltip } from "./tooltip";
import css from "./parts.module.css";

export type ButtonKind = "plain" | "primary" | "danger" | "quiet";

export interface ButtonProps extends ComponentProps<"button"> {
  readonly kind?: ButtonKind;
  readonly small?: boolean;
}

export const buttonClass = (kind: ButtonKind = "plain", small = false, more = ""): string =>
  [css["button"], kind !== "plain" && css[kind], small && css["small"], more].filter(Boolean).join(" ");

export function Button({ kind = "plain", small = false, className = "", type = "button", ...rest }: ButtonProps) {
  return <button type={type} className={buttonClass(kind, small, className)} {...rest} />;
}

/** A button with an icon; its label is the tooltip and the accessible name. */
export function IconButton({ label, className = "", kind = "quiet", ...rest }: ButtonProps & { readonly label: string }) {
  return (
    <Tooltip text={label}>
      <Button aria-label={label} kind={kind} className={`${css["icon"] ?? ""} ${className}`} {...rest} />
    </Tooltip>
  );
}
