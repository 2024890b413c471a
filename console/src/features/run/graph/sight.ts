import type { Point } from "./layout";

/** What part of the graph is seen: a point of it is drawn at x + k·its x. */
export interface Sight {
  readonly x: number;
  readonly y: number;
  readonly k: number;
}

export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

const smallest = 0.04;
const largest = 2;
/** What fits only smaller than this cannot be read, and is not shown at once. */
const legible = 0.6;
const air = 16;

export const toScreen = (sight: Sight, point: Point): Point => ({ x: sight.x + sight.k * point.x, y: sight.y + sight.k * point.y });
export const toGraph = (sight: Sight, point: Point): Point => ({ x: (point.x - sight.x) / sight.k, y: (point.y - sight.y) / sight.k });

/** Draws larger by a factor, so that what is at a point of the screen stays there. */
export function zoomed(sight: Sight, factor: number, at: Point): Sight {
  const k = Math.min(largest, Math.max(smallest, sight.k * factor));
  const point = toGraph(sight, at);
  return { x: at.x - k * point.x, y: at.y - k * point.y, k };
}

/** Keeps a part of the graph in sight however far it is pushed. */
export function within(sight: Sight, graph: Size, screen: Size): Sight {
  const least = 60;
  const hold = (at: number, length: number, room: number) => Math.min(room - least, Math.max(least - length * sight.k, at));
  return { ...sight, x: hold(sight.x, graph.width, screen.width), y: hold(sight.y, graph.height, screen.height) };
}

/** All of it, however small. */
export function fitted(graph: Size, screen: Size): Sight {
  const k = Math.min(1, Math.max(smallest, Math.min((screen.width - 2 * air) / graph.width, (screen.height - 2 * air) / graph.height)));
  return { k, x: Math.max(air, (screen.width - k * graph.width) / 2), y: Math.max(air, (screen.height - k * graph.height) / 2) };
}

/** The first look: all of it if that can be read, else the beginning. */
export function opening(graph: Size, screen: Size, root: Box): Sight {
  const all = fitted(graph, screen);
  if (all.k >= legible) return all;
  const k = 0.85;
  return { k, x: air - k * root.x, y: screen.height / 2 - k * (root.y + root.height / 2) };
}

/** Moves just as much as it takes for a box to be in sight. */
export function revealed(sight: Sight, box: Box, screen: Size): Sight {
  const { x, y } = toScreen(sight, box);
  const [width, height] = [box.width * sight.k, box.height * sight.k];
  const push = (at: number, length: number, room: number) =>
    at < air ? air - at : at + length > room - air ? Math.max(air - at, room - air - at - length) : 0;
  return { ...sight, x: sight.x + push(x, width, screen.width), y: sight.y + push(y, height, screen.height) };
}
