import { clean } from "./ansi";
import { continues, Level, levelOf } from "./level";
import { Numbers, small, wide, counts } from "./numbers";
import type { Problem } from "@/api/problem";

/** A line as it arrives. */
export interface Arrival {
  /** In milliseconds since the epoch; undefined if unknown. */
  readonly at: number | undefined;
  readonly message: string;
}

/** The state of reading. */
export type Reading =
  | { readonly state: "opening" | "reading" | "not found yet" | "ended" | "full" }
  /** The cluster cannot be reached; why says which, since when, and what happens next. */
  | { readonly state: "away"; readonly why: string }
  | { readonly state: "failed"; readonly problem: Problem };

/** Only this many characters of a line are shown; the download has all. */
export const shownWidth = 4000;

const levels = [Level.None, Level.Debug, Level.Info, Level.Warning, Level.Error] as const;

const maxLines = 2_000_000;
const maxCharacters = 300_000_000;

/**
 * The lines of a log, outside React and in columns, so that it holds millions of them. Lines are only appended. Listeners are
 * notified once per batch.
 */
export class LogStore {
  readonly #texts: string[] = [];
  readonly #styled = new Map<number, string>();
  readonly #times = new Numbers(wide);
  readonly #levels = new Numbers(small);
  readonly #widths = new Numbers(counts);
  readonly #sources = new Numbers(small);
  readonly #names: string[] = [];
  readonly #received: number[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #limits: { readonly lines: number; readonly characters: number };
  #characters = 0;
  #widest = 0;
  #firstError = -1;
  #version = 0;
  #reading: Reading = { state: "opening" };

  constructor(limits = { lines: maxLines, characters: maxCharacters }) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#texts.length;
  }
  /** Grows with every change. */
  get version(): number {
    return this.#version;
  }
  get reading(): Reading {
    return this.#reading;
  }
  /** Whether the limit is reached. */
  get full(): boolean {
    return this.size >= this.#limits.lines || this.#characters >= this.#limits.characters;
  }
  /** The width of the widest line, in columns. */
  get widest(): number {
    return this.#widest;
  }
  /** The first line with level error; -1 if there is none. */
  get firstError(): number {
    return this.#firstError;
  }
  /** The containers that the lines are from. */
  get names(): readonly string[] {
    return this.#names;
  }

  text(line: number): string {
    return this.#texts[line] ?? "";
  }
  /** The line with its colors; undefined when it has none. */
  styled(line: number): string | undefined {
    return this.#styled.get(line);
  }
  /** In milliseconds since the epoch; undefined if unknown. */
  at(line: number): number | undefined {
    const at = this.#times.get(line);
    return Number.isNaN(at) ? undefined : at;
  }
  level(line: number): Level {
    return levels[this.#levels.get(line)] ?? Level.None;
  }
  /** The width of the line, in columns. */
  width(line: number): number {
    return this.#widths.get(line);
  }
  source(line: number): string {
    return this.#names[this.#sources.get(line)] ?? "";
  }

  /** The number of received lines of a container, which is the position to resume at. */
  received(name: string): number {
    return this.#received[this.#names.indexOf(name)] ?? 0;
  }

  add(name: string, lines: readonly Arrival[]): void {
    let source = this.#names.indexOf(name);
    if (source < 0) {
      source = this.#names.push(name) - 1;
      this.#received.push(0);
    }
    for (const line of lines) {
      if (this.full) break;
      this.#append(source, line);
    }
    this.#notify();
  }

  set(reading: Reading): void {
    this.#reading = reading;
    this.#notify();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** All received lines as a file. */
  file(): Blob {
    const parts: string[] = [];
    for (let from = 0; from < this.size; from += 10_000) parts.push(`${this.#texts.slice(from, from + 10_000).join("\n")}\n`);
    return new Blob(parts, { type: "text/plain;charset=utf-8" });
  }

  #append(source: number, { at, message }: Arrival): void {
    const line = this.size;
    const { text, styled } = clean(message);
    const own = levelOf(text);
    const level = own === Level.None && line > 0 && this.#sources.get(line - 1) === source && continues(text) ? this.level(line - 1) : own;
    const width = widthOf(text);
    this.#texts.push(text);
    if (styled !== undefined) this.#styled.set(line, styled);
    this.#times.push(at ?? Number.NaN);
    this.#levels.push(level);
    this.#widths.push(width);
    this.#sources.push(source);
    this.#received[source] = (this.#received[source] ?? 0) + 1;
    this.#characters += text.length;
    this.#widest = Math.max(this.#widest, width);
    if (own === Level.Error && this.#firstError < 0) this.#firstError = line;
  }

  #notify(): void {
    this.#version++;
    for (const listener of this.#listeners) listener();
  }
}

const tab = 8;
const beyondPlain = /[^\x20-\x7e]/;

/** The maximum width of a text in a monospaced font, in columns. */
function widthOf(text: string): number {
  const shown = text.length > shownWidth ? text.slice(0, shownWidth) : text;
  if (!beyondPlain.test(shown)) return shown.length;
  let width = 0;
  for (const character of shown) {
    const code = character.codePointAt(0) ?? 0;
    width += code === 9 ? tab : code >= 0x1100 && !(code >= 0x2000 && code < 0x2e80) ? 2 : 1;
  }
  return width;
}
