import { useEffect, useRef, useSyncExternalStore } from "react";

/** An action of the current page, for the palette. */
export interface Command {
  readonly title: string;
  /** Tells it apart from others of the same title. */
  readonly key?: string;
  /** More search words. */
  readonly also?: string;
  readonly run: () => void;
}

let offered: readonly Command[] = [];
const listeners = new Set<() => void>();

function change(next: readonly Command[]): void {
  offered = next;
  for (const listener of listeners) listener();
}

/** Adds commands to the palette while the component is mounted. */
export function useCommands(commands: readonly Command[]): void {
  const latest = useRef(commands);
  useEffect(() => {
    latest.current = commands;
  });
  const titles = commands.map(({ title, also = "" }) => `${title}\t${also}`).join("\n");
  useEffect(() => {
    if (titles === "") return;
    const mine = titles.split("\n").map((line, at): Command => {
      const [title = "", also = ""] = line.split("\t");
      return { title, also, run: () => latest.current[at]?.run() };
    });
    change([...offered, ...mine]);
    return () => change(offered.filter((each) => !mine.includes(each)));
  }, [titles]);
}

/** Finds commands for typed text. */
export type Finder = (typed: string) => readonly Command[];

let finders: readonly Finder[] = [];

/** Adds commands to the palette that depend on what is typed. The finder must be a new function when its answers changed. */
export function useFinder(finder: Finder): void {
  useEffect(() => {
    finders = [...finders, finder];
    change(offered.slice());
    return () => {
      finders = finders.filter((each) => each !== finder);
    };
  }, [finder]);
}

/** The commands that the finders have for typed text. */
export const findCommands: Finder = (typed) => finders.flatMap((finder) => finder(typed));

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useOffered = (): readonly Command[] => useSyncExternalStore(subscribe, () => offered);

/** Whether every typed word is the start of a word of the text, or part of it. */
export function fits(typed: string, text: string): boolean {
  const words = text.toLowerCase().split(/[\s/·:_.-]+/);
  const whole = text.toLowerCase();
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((part) => part === "" || words.some((word) => word.startsWith(part)) || (part.length > 2 && whole.includes(part)));
}
