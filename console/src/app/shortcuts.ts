import { useEffect, useRef, useSyncExternalStore } from "react";
import { t } from "@/texts/texts";

/** An active shortcut and its description. */
export interface Shortcut {
  readonly keys: string;
  readonly words: string;
}

/** The longest pause within a sequence of keys, in milliseconds. */
const maxPause = 1000;

/**
 * Calls back when the keys are pressed: "mod+k" with ⌘ or Ctrl, "/", or "g r" for a sequence. Plain letters do
 * nothing while the user types, or while a dialog or a menu is open. With words, the shortcut appears in the list.
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

/** Recognizes a sequence of keys, pressed within the time limit. */
export function recognizer(keys: string): (key: string, at: number) => boolean {
  const wanted = keys.split(" ");
  let typed: string[] = [];
  let last = -Infinity;
  return (key, at) => {
    typed = at - last < maxPause ? [...typed, key].slice(-wanted.length) : [key];
    last = at;
    if (typed.join(" ") !== keys) return false;
    typed = [];
    return true;
  };
}

const nameOf = (event: KeyboardEvent, modified: boolean): string => (modified ? `mod+${event.key.toLowerCase()}` : event.key);

/** Controls that accept text. Checkboxes are inputs as well, but accept none. */
const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    (target instanceof HTMLInputElement ? !["checkbox", "radio", "button", "submit"].includes(target.type) : ["TEXTAREA", "SELECT"].includes(target.tagName)));

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

export const useShortcuts = (): readonly Shortcut[] => useSyncExternalStore(subscribe, () => announced);

const isMac = (): boolean => /Mac|iPhone|iPad/.test(navigator.userAgent);

export const keysInWords = (keys: string): readonly string[] =>
  keys.split(" ").map((key) => (key.startsWith("mod+") ? `${isMac() ? "⌘" : `${t("Ctrl")} `}${key.slice(4).toUpperCase()}` : key));
