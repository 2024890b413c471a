import { useEffect, useRef, useSyncExternalStore } from "react";

/** A shortcut that works now, and what it does. */
export interface Shortcut {
  readonly keys: string;
  readonly words: string;
}

const pause = 1000;

/**
 * Calls back when the keys are pressed: "mod+k" with ⌘ or Ctrl, "/" or "g r" for keys that follow each other. Letters alone do
 * nothing while somebody types, or while a dialog or a menu is open. With words, the list of shortcuts has it.
 */
export function useShortcut(keys: string, action: () => void, words = ""): void {
  const latest = useRef(action);
  useEffect(() => {
    latest.current = action;
  });
  useEffect(() => {
    const pressed = recognizer(keys);
    const press = (event: KeyboardEvent) => {
      const modified = event.metaKey || event.ctrlKey;
      if (event.altKey || event.key === "Shift" || (!modified && (isTyping(event.target) || isCovered()))) return;
      if (!pressed(nameOf(event, modified), Date.now())) return;
      event.preventDefault();
      latest.current();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [keys]);
  useEffect(() => (words === "" ? undefined : announce({ keys, words })), [keys, words]);
}

/** Tells whether the keys have been pressed, one after the other and not too slowly. */
export function recognizer(keys: string): (key: string, at: number) => boolean {
  const wanted = keys.split(" ");
  let typed: string[] = [];
  let last = -Infinity;
  return (key, at) => {
    typed = at - last < pause ? [...typed, key].slice(-wanted.length) : [key];
    last = at;
    if (typed.join(" ") !== keys) return false;
    typed = [];
    return true;
  };
}

const nameOf = (event: KeyboardEvent, modified: boolean): string => (modified ? `mod+${event.key.toLowerCase()}` : event.key);

/** Controls that take letters; boxes to tick are inputs too, and take none. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || (target instanceof HTMLInputElement ? !["checkbox", "radio", "button", "submit"].includes(target.type) : ["TEXTAREA", "SELECT"].includes(target.tagName)));

const isCovered = (): boolean => document.querySelector("[role=dialog][data-state=open], [role=menu][data-state=open]") !== null;

let announced: readonly Shortcut[] = [];
const listeners = new Set<() => void>();

function announce(shortcut: Shortcut): () => void {
  const change = (next: readonly Shortcut[]) => {
    announced = next;
    for (const listener of listeners) listener();
  };
  change([...announced, shortcut]);
  return () => change(announced.filter((each) => each !== shortcut));
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** The shortcuts that work now. */
export const useShortcuts = (): readonly Shortcut[] => useSyncExternalStore(subscribe, () => announced);

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** The keys as they are written on them. */
export const keysInWords = (keys: string): readonly string[] =>
  keys.split(" ").map((key) => (key.startsWith("mod+") ? `${isMac ? "⌘" : "Ctrl "}${key.slice(4).toUpperCase()}` : key));
