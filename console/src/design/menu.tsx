import { DropdownMenu as Radix } from "radix-ui";
import type { ReactNode } from "react";
import css from "./parts.module.css";

/** A menu that its trigger, a button, opens. */
export function Menu({ trigger, children, align = "end" }: { readonly trigger: ReactNode; readonly children: ReactNode; readonly align?: "start" | "end" }) {
  return (
    // It does not hide the page from readers of the screen while it is open: what is focused there would be hidden, too.
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content className={css["menu"]} align={align} sideOffset={4} collisionPadding={8}>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

export function MenuItem({ onSelect, disabled = false, children }: { readonly onSelect: () => void; readonly disabled?: boolean; readonly children: ReactNode }) {
  return (
    <Radix.Item className={css["menu-item"]} disabled={disabled} onSelect={onSelect}>
      {children}
    </Radix.Item>
  );
}

/** One of several choices; the chosen one is marked. */
export function MenuChoice<T extends string>({ value, options, onChange }: { readonly value: T; readonly options: readonly (readonly [T, ReactNode])[]; readonly onChange: (value: T) => void }) {
  return (
    <Radix.RadioGroup value={value} onValueChange={(next) => onChange(next as T)}>
      {options.map(([option, label]) => (
        <Radix.RadioItem key={option} className={css["menu-item"]} value={option}>
          <span aria-hidden>{option === value ? "●" : "○"}</span>
          {label}
        </Radix.RadioItem>
      ))}
    </Radix.RadioGroup>
  );
}

/** A choice that is on or off; the menu stays open. */
export function MenuCheck({ checked, onChange, children }: { readonly checked: boolean; readonly onChange: (checked: boolean) => void; readonly children: ReactNode }) {
  return (
    <Radix.CheckboxItem className={css["menu-item"]} checked={checked} onCheckedChange={onChange} onSelect={(event) => event.preventDefault()}>
      <span aria-hidden>{checked ? "☑" : "☐"}</span>
      {children}
    </Radix.CheckboxItem>
  );
}
