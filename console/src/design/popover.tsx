import { Popover as Radix } from "radix-ui";
import type { ReactNode } from "react";
import css from "./parts.module.css";

export interface PopoverProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  /** The button that opens it. */
  readonly trigger: ReactNode;
  readonly label: string;
  readonly align?: "start" | "end";
  readonly children: ReactNode;
}

/** A panel next to its trigger, for content that is more than a menu. */
export function Popover({ open, onOpenChange, trigger, label, align = "start", children }: PopoverProps) {
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content className={css["popover"]} aria-label={label} align={align} sideOffset={4} collisionPadding={8}>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
