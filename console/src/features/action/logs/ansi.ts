import Anser from "anser";

const escape = String.fromCharCode(27);
const bell = String.fromCharCode(7);
/** All terminal escape sequences. Only those that set colors are rendered. */
const commands = new RegExp(`${escape}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${bell}${escape}]*(?:${bell}|${escape}\\\\)|[@-Z\\\\-_])`, "g");
const colour = new RegExp(`^${escape}\\[[0-9;:]*m$`);

/** A line as a terminal would show it: text after a carriage return overwrites it, and only color sequences remain. */
export function clean(line: string): { readonly text: string; readonly styled: string | undefined } {
  let raw = line.endsWith("\n") ? line.slice(0, -1) : line;
  if (raw.endsWith("\r")) raw = raw.slice(0, -1);
  const over = raw.lastIndexOf("\r");
  if (over >= 0) raw = raw.slice(over + 1);
  if (!raw.includes(escape)) return { text: raw, styled: undefined };
  const styled = raw.replace(commands, (command) => (colour.test(command) ? command : ""));
  return { text: styled.replace(commands, ""), styled };
}

/** A part of a line in one style. */
export interface Piece {
  readonly text: string;
  /** Names of styles, such as a color or bold. */
  readonly styles: readonly string[];
  /** Whether it matches the search. */
  readonly hit: boolean;
}

const hues = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;

/** The nearest of the eight colors; others are not legible on every background. */
function nearest([r = 0, g = 0, b = 0]: readonly number[]): string {
  const max = Math.max(r, g, b);
  const min = Math.min(r, g, b);
  if (max - min < 40) return max > 127 ? "white" : "black";
  const on = (value: number) => (value - min > (max - min) / 2 ? 1 : 0);
  return hues[on(r) + 2 * on(g) + 4 * on(b)] ?? "white";
}

function hueOf(name: string | null, palette: string | null): string | undefined {
  if (!name) return undefined;
  const known = /^ansi-(?:bright-)?(\w+)$/.exec(name)?.[1];
  if (known && (hues as readonly string[]).includes(known)) return known;
  const numbers = palette?.match(/\d+/g)?.map(Number);
  return numbers?.length === 3 ? nearest(numbers) : undefined;
}

/** The RGB value of a color of the 256 color palette. */
function paletteColour(index: number): string {
  if (index >= 232) return Array.from({ length: 3 }, () => 8 + (index - 232) * 10).join(",");
  if (index < 16) return "";
  const at = index - 16;
  return [Math.floor(at / 36), Math.floor(at / 6) % 6, at % 6].map((step) => (step === 0 ? 0 : 55 + step * 40)).join(",");
}

const numbered = /^ansi-palette-(\d+)$/;

function stylesOf(part: {
  fg: string | null;
  bg: string | null;
  fg_truecolor: string | null;
  bg_truecolor: string | null;
  decorations: readonly string[];
}): string[] {
  const styles: string[] = [...part.decorations.filter((name) => ["bold", "italic", "underline", "dim", "strikethrough"].includes(name))];
  const of = (name: string | null, truecolor: string | null) => {
    const index = numbered.exec(name ?? "")?.[1];
    return hueOf(name, index === undefined ? truecolor : paletteColour(Number(index)));
  };
  const front = of(part.fg, part.fg_truecolor);
  const back = of(part.bg, part.bg_truecolor);
  if (front) styles.push(front);
  if (back) styles.push("ground");
  return styles;
}

/** Splits a line into pieces of one style, and at search matches. */
export function pieces(text: string, styled: string | undefined, pattern: RegExp | undefined): Piece[] {
  const parts =
    styled === undefined
      ? [{ text, styles: [] as string[] }]
      : Anser.ansiToJson(styled, { use_classes: true, remove_empty: true, json: true }).map((part) => ({ text: part.content, styles: stylesOf(part) }));
  const hits = pattern ? hitsOf(text, pattern) : [];
  if (hits.length === 0) return parts.map((part) => ({ ...part, hit: false }));
  const result: Piece[] = [];
  let offset = 0;
  for (const part of parts) {
    let at = 0;
    for (const [from, to] of hits) {
      const start = Math.max(from - offset, at);
      const end = Math.min(to - offset, part.text.length);
      if (start >= end) continue;
      if (start > at) result.push({ text: part.text.slice(at, start), styles: part.styles, hit: false });
      result.push({ text: part.text.slice(start, end), styles: part.styles, hit: true });
      at = end;
    }
    if (at < part.text.length) result.push({ text: part.text.slice(at), styles: part.styles, hit: false });
    offset += part.text.length;
  }
  return result;
}

/** Only the first matches of a line are highlighted. */
const maxHits = 200;

function hitsOf(text: string, pattern: RegExp): [number, number][] {
  const hits: [number, number][] = [];
  for (const match of text.matchAll(new RegExp(pattern, `${pattern.flags.replace("g", "")}g`))) {
    if (match[0] !== "") hits.push([match.index, match.index + match[0].length]);
    if (hits.length === maxHits) break;
  }
  return hits;
}
