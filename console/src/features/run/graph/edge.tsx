import { memo } from "react";
import type { Edge } from "./edges";
import type { Point } from "./layout";

const rounding = 8;

/** A line through corners, which are rounded. */
export function pathOf(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${first.x} ${first.y}`;
  let before = first;
  rest.forEach((point, i) => {
    const next = rest[i + 1];
    if (next) {
      const cut = Math.min(rounding, distance(before, point) / 2, distance(point, next) / 2);
      const [a, b] = [towards(point, before, cut), towards(point, next, cut)];
      path += `L${a.x} ${a.y}Q${point.x} ${point.y} ${b.x} ${b.y}`;
    } else {
      path += `L${point.x} ${point.y}`;
    }
    before = point;
  });
  return path;
}

const distance = (a: Point, b: Point): number => Math.hypot(a.x - b.x, a.y - b.y);

function towards(from: Point, to: Point, by: number): Point {
  const far = distance(from, to) || 1;
  return { x: from.x + ((to.x - from.x) * by) / far, y: from.y + ((to.y - from.y) * by) / far };
}

export interface EdgesProps {
  readonly edges: readonly Edge[];
  readonly routes: ReadonlyMap<string, readonly Point[]>;
  readonly width: number;
  readonly height: number;
  /** The node whose lines stand out. */
  readonly near: string;
  readonly className: string | undefined;
}

export function Edges({ edges, routes, width, height, near, className }: EdgesProps) {
  const isNear = (edge: Edge) => edge.from === near || edge.to === near;
  return (
    <svg className={className} width={width} height={height} aria-hidden>
      <defs>
        {["plain", "near"].map((name) => (
          <marker key={name} id={`graph-tip-${name}`} data-tip={name} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0 0L8 4L0 8Z" />
          </marker>
        ))}
      </defs>
      {edges.map((edge) => (
        <Line key={edge.id} edge={edge} route={routes.get(edge.id)} near={isNear(edge)} />
      ))}
    </svg>
  );
}

const Line = memo(function Line({ edge, route, near }: { readonly edge: Edge; readonly route: readonly Point[] | undefined; readonly near: boolean }) {
  const tip = near ? "near" : "plain";
  return (
    <path d={pathOf(route ?? [])} data-kind={edge.kind} data-near={near || undefined} markerEnd={edge.kind === "data" ? `url(#graph-tip-${tip})` : undefined}>
      {edge.variables.length > 0 && <title>{edge.variables.join(", ")}</title>}
    </path>
  );
});
