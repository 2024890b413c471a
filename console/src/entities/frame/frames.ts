/** The scroll position and tab in a report. */
export interface Position {
  readonly x: number;
  readonly y: number;
  /** The open tab of the report, from 0; negative if it has none. */
  readonly tab: number;
}

/** A message of the frame of a report. The report itself can send it as well, so it is not trusted. */
export type FrameMessage = { readonly kind: "ready" } | { readonly kind: "shown" } | { readonly kind: "position"; readonly position: Position };

/** Parses a message; undefined if it is not valid. */
export function parseMessage(data: unknown): FrameMessage | undefined {
  if (typeof data !== "object" || data === null) return undefined;
  const message = data as Record<string, unknown>;
  if (message["ready"] === true) return { kind: "ready" };
  if (message["shown"] === true) return { kind: "shown" };
  const [x, y, tab] = [message["x"], message["y"], message["tab"]].map((one) => (typeof one === "number" && Number.isFinite(one) ? one : undefined));
  return x === undefined || y === undefined ? undefined : { kind: "position", position: { x, y, tab: tab ?? -1 } };
}

/** Removes the web fonts that every report loads from another host: they would disclose who reads it. */
export const withoutFonts = (html: string): string => html.replace(/<link\b[^>]*\bhref=["']?https:\/\/fonts\.googleapis\.com\/[^>]*>/gi, "");

/** A version of a report and the frame that shows it. */
export interface Framed {
  readonly id: number;
  readonly html: string;
}

/** Adds a version behind the shown one. A version that still loads is replaced by a newer one. */
export function add(frames: readonly Framed[], html: string): readonly Framed[] {
  const last = frames.at(-1);
  if (last?.html === html) return frames;
  const next = { id: (last?.id ?? 0) + 1, html };
  return [...frames.slice(0, 1), next];
}

/** A frame has rendered its version: drops older ones. */
export const drawn = (frames: readonly Framed[], id: number): readonly Framed[] =>
  frames.some((frame) => frame.id === id) ? frames.filter((frame) => frame.id >= id) : frames;
