import { useEffect, useRef } from "react";

/** Calls back when the keys are pressed: "mod+k" with ⌘ or Ctrl, "/" or "g r" for keys that follow each other. Letters alone do nothing while somebody types. */
export function useShortcut(keys: string, action: () => void): void {
  const latest = useRef(action);
  useEffect(() => {
    latest.current = action;
  });
  useEffect(() => {
    const wanted = keys.split(" ");
    let typed: string[] = [];
    let last = 0;
    const press = (event: KeyboardEvent) => {
      const modified = event.metaKey || event.ctrlKey;
      if (!modified && isTyping(event.target)) return;
      if (event.altKey || event.key === "Shift") return;
      const now = Date.now();
      typed = now - last < 1000 ? [...typed, name(event, modified)].slice(-wanted.length) : [name(event, modified)];
      last = now;
      if (typed.join(" ") !== keys) return;
      typed = [];
      event.preventDefault();
      latest.current();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [keys]);
}

const name = (event: KeyboardEvent, modified: boolean): string => (modified ? `mod+${event.key.toLowerCase()}` : event.key);

/** Controls that take letters; boxes to tick are inputs too, and take none. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || (target instanceof HTMLInputElement ? !["checkbox", "radio", "button", "submit"].includes(target.type) : ["TEXTAREA", "SELECT"].includes(target.tagName)));
