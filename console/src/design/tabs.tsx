import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";
import css from "./parts.module.css";

export interface TabsProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly onChange: (value: T) => void;
  readonly tabs: readonly (readonly [T, ReactNode])[];
  /** The content of the chosen tab. */
  readonly children: ReactNode;
}

/** Tabs, of which the caller keeps which one is chosen, as in the address bar. */
export function Tabs<T extends string>({ label, value, onChange, tabs, children }: TabsProps<T>) {
  return (
    <Radix.Root value={value} onValueChange={(next) => onChange(next as T)} activationMode="manual">
      <Radix.List className={css["tabs"]} aria-label={label}>
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
