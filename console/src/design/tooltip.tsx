import { Tooltip as Radix } from "radix-ui";
import type { ReactNode } from "react";
import css from "./parts.module.css";

/** A tooltip for its child on hover and focus. The child must accept a ref. */
export function Tooltip({
  text,
  children,
  ...shown
}: {
  readonly text: ReactNode;
  readonly children: ReactNode;
  /** Whether it is shown, for those who control it. */
  readonly open?: boolean;
  readonly onOpenChange?: (open: boolean) => void;
}) {
  return (
    <Radix.Root {...shown}>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content className={css["tooltip"]} sideOffset={4} collisionPadding={8}>
          {text}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
