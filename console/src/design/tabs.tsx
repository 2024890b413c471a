import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";
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
