import { createContext, use, useEffect, useMemo, useState, type ReactNode } from "react";
import { read, write } from "./storage";

export type Theme = "system" | "light" | "dark";

/** Settings of this browser. */
export interface Preferences {
  readonly theme: Theme;
  /** An IANA time zone; undefined means the browser's. */
  readonly zone: string | undefined;
  readonly setTheme: (theme: Theme) => void;
  readonly setZone: (zone: string | undefined) => void;
}

const Context = createContext<Preferences>({ theme: "system", zone: undefined, setTheme: () => undefined, setZone: () => undefined });

export const usePreferences = (): Preferences => use(Context);

const isTheme = (value: unknown): value is Theme => value === "system" || value === "light" || value === "dark";
const isZone = (value: unknown): value is string => typeof value === "string" && zones().includes(value);

/** The time zones to choose from. */
export const zones = (): readonly string[] => ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];

export function PreferencesProvider({ children }: { readonly children: ReactNode }) {
  const [theme, setTheme] = useState<Theme>(() => read("theme", isTheme) ?? "system");
  const [zone, setZone] = useState<string | undefined>(() => read("zone", isZone));
  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const apply = () => {
      document.documentElement.dataset["theme"] = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
    };
    apply();
    dark.addEventListener("change", apply);
    return () => dark.removeEventListener("change", apply);
  }, [theme]);
  const value = useMemo<Preferences>(
    () => ({
      theme,
      zone,
      setTheme: (next) => {
        write("theme", next);
        setTheme(next);
      },
      setZone: (next) => {
        write("zone", next);
        setZone(next);
      },
    }),
    [theme, zone],
  );
  return <Context value={value}>{children}</Context>;
}
