import { Tabs as Radix } from "radix-ui";
import { useLayoutEffect, useRef, type ReactNode } from "react";
import { showSelected } from "./show-selected";
import css from "./parts.module.css";

export interface TabsProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly onChange: (value: T) => void;
  readonly tabs: readonly (readonly [T, ReactNode])[];
  /** The content of the selected tab. */
  readonly children: ReactNode;
}

/** Tabs whose selection the caller keeps, for example in the URL. */
export function Tabs<T extends string>({ label, value, onChange, tabs, children }: TabsProps<T>) {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => showSelected(list.current, "[data-state=active]"), [value, tabs.length]);
  return (
    <Radix.Root value={value} onValueChange={(next) => onChange(next as T)} activationMode="manual">
      <Radix.List ref={list} className={css["tabs"]} aria-label={label}>
        {tabs.map(([key, name]) => (
          <Radix.Trigger key={key} value={key} className={css["tab"]}>
            {name}
          </Radix.Trigger>
        ))}
      </Radix.List>
      <Radix.Content value={value} tabIndex={-1}>
        {children}
      </Radix.Content>
    </Radix.Root>
  );
}
