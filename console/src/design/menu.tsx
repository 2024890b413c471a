import { DropdownMenu as Radix } from "radix-ui";
import { createContext, useContext, useState, type ReactNode } from "react";
import { t } from "@/texts/texts";
import { Button } from "./button";
import type { Denial } from "./denial";
import { Dialog, DialogActions } from "./dialog";
import css from "./parts.module.css";

/** Shows why the reader may not choose an item. */
const Refused = createContext<(denial: Denial) => void>(() => undefined);

/** A menu with the button that opens it. */
export function Menu({ trigger, children, align = "end" }: { readonly trigger: ReactNode; readonly children: ReactNode; readonly align?: "start" | "end" }) {
  const [denial, refuse] = useState<Denial>();
  return (
    <Refused.Provider value={refuse}>
      {/* Not modal: a modal menu hides the page from screen readers, and the focused element with it. */}
      <Radix.Root modal={false}>
        <Radix.Trigger asChild>{trigger}</Radix.Trigger>
        <Radix.Portal>
          <Radix.Content className={css["menu"]} align={align} sideOffset={4} collisionPadding={8}>
            {children}
          </Radix.Content>
        </Radix.Portal>
      </Radix.Root>
      <Dialog open={denial !== undefined} onClose={() => refuse(undefined)} title={t("Why you may not do this")}>
        <div className={css["denial"]}>
          <p>{denial?.why}</p>
          {denial?.more}
        </div>
        <DialogActions>
          <Button onClick={() => refuse(undefined)}>{t("Close")}</Button>
        </DialogActions>
      </Dialog>
    </Refused.Provider>
  );
}

export function MenuItem({
  onSelect,
  disabled = false,
  denied,
  children,
}: {
  readonly onSelect: () => void;
  readonly disabled?: boolean;
  /** Why the reader may not choose it; shown below its text. Choosing it shows whom to ask, and a request to copy. */
  readonly denied?: Denial | undefined;
  readonly children: ReactNode;
}) {
  const refuse = useContext(Refused);
  if (denied === undefined)
    return (
      <Radix.Item className={css["menu-item"]} disabled={disabled} onSelect={onSelect}>
        {children}
      </Radix.Item>
    );
  return (
    <Radix.Item className={css["menu-item"]} data-denied={denied.call} aria-disabled onSelect={() => refuse(denied)}>
      <span className={css["refused"]}>
        <span>{children}</span>
        <small>{denied.why}</small>
      </span>
    </Radix.Item>
  );
}

/** A choice between options; the chosen one is marked. */
export function MenuChoice<T extends string>({
  value,
  options,
  onChange,
}: {
  readonly value: T;
  readonly options: readonly (readonly [T, ReactNode])[];
  readonly onChange: (value: T) => void;
}) {
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

/** An option that can be switched on and off; the menu stays open. */
export function MenuCheck({
  checked,
  onChange,
  children,
}: {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly children: ReactNode;
}) {
  return (
    <Radix.CheckboxItem className={css["menu-item"]} checked={checked} onCheckedChange={onChange} onSelect={(event) => event.preventDefault()}>
      <span aria-hidden>{checked ? "☑" : "☐"}</span>
      {children}
    </Radix.CheckboxItem>
  );
}
