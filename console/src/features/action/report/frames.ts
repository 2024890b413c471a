/** Where a reader is in a report. */
export interface Position {
  readonly x: number;
  readonly y: number;
  /** Which of the report's tabs is open, from 0; negative when it has none. */
  readonly tab: number;
}

/** What the page that shows a report says. It may be the report itself that says it, so that nothing of it is trusted. */
export type Word = { readonly kind: "ready" } | { readonly kind: "shown" } | { readonly kind: "position"; readonly position: Position };

/** Reads a message; undefined for what is none of ours. */
export function wordOf(data: unknown): Word | undefined {
  if (typeof data !== "object" || data === null) return undefined;
  const message = data as Record<string, unknown>;
  if (message["ready"] === true) return { kind: "ready" };
  if (message["shown"] === true) return { kind: "shown" };
  const [x, y, tab] = [message["x"], message["y"], message["tab"]].map((one) => (typeof one === "number" && Number.isFinite(one) ? one : undefined));
  return x === undefined || y === undefined ? undefined : { kind: "position", position: { x, y, tab: tab ?? -1 } };
}

/** The fonts that every report asks another host for. They are a matter of taste, and tell that host who reads. */
export const withoutFonts = (html: string): string => html.replace(/<link\b[^>]*\bhref=["']?https:\/\/fonts\.googleapis\.com\/[^>]*>/gi, "");

/** A version of a report and the frame that shows it. */
export interface Framed {
  readonly id: number;
  readonly html: string;
}

/** Adds a version behind the one that is shown. One that still loads makes place for a newer one. */
export function add(frames: readonly Framed[], html: string): readonly Framed[] {
  const last = frames.at(-1);
  if (last?.html === html) return frames;
  const next = { id: (last?.id ?? 0) + 1, html };
  return [...frames.slice(0, 1), next];
}

/** A frame has drawn its version: those before it go. */
export const drawn = (frames: readonly Framed[], id: number): readonly Framed[] => (frames.some((frame) => frame.id === id) ? frames.filter((frame) => frame.id >= id) : frames);
