import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { Column } from "@/entities/run/model/columns";
import { none, type RunModel } from "@/entities/run/model/run-model";

const phaseCount = Math.max(...Object.values(ActionPhase).filter((value) => typeof value === "number")) + 1;

/**
 * The tree as people read it: an action's children, with those of one group under a node of their own in the place of the
 * first. Nodes are numbered in the order in which they came, parents before children, and never move. It grows with its
 * model; to take the changes of a hundred thousand actions takes some milliseconds.
 */
export class Outline {
  readonly model: RunModel;
  readonly #rows = new Column(); // row + 1; 0 for a group
  readonly #nodes = new Column(); // of a row
  readonly #parents = new Column(); // node + 1, as all of these
  readonly #first = new Column();
  readonly #last = new Column();
  readonly #next = new Column();
  readonly #members = new Column();
  #names = new Map<number, string>(); // of groups
  #groups = new Map<number, Map<string, number>>(); // by the parent's node and the name
  #below = new Uint32Array(0);
  #size = 0;
  #seen = 0;
  #generation = -1;

  constructor(model: RunModel) {
    this.model = model;
  }

  get size(): number {
    return this.#size;
  }
  /** The action of a node; -1 for a group. */
  row(node: number): number {
    return this.#rows.get(node) - 1;
  }
  node(row: number): number {
    return row < this.#seen && row >= 0 ? this.#nodes.get(row) : none;
  }
  parent(node: number): number {
    return this.#parents.get(node) - 1;
  }
  first(node: number): number {
    return this.#first.get(node) - 1;
  }
  next(node: number): number {
    return this.#next.get(node) - 1;
  }
  /** How many nodes are directly below. */
  members(node: number): number {
    return this.#members.get(node);
  }
  /** The name of a group; empty for actions. */
  group(node: number): string {
    return this.#names.get(node) ?? "";
  }
  /** What names the node as long as the run lives, whatever its number. */
  key(node: number): string {
    const row = this.row(node);
    return row === none ? `${this.key(this.parent(node))}/${this.group(node)}` : this.model.name(row);
  }
  /** How many actions are below the node, by phase. */
  counts(node: number): ReadonlyMap<ActionPhase, number> {
    const counts = new Map<ActionPhase, number>();
    for (let phase = 0; phase < phaseCount; phase++) {
      const n = this.#below[node * phaseCount + phase] ?? 0;
      if (n > 0) counts.set(phase, n);
    }
    return counts;
  }
  /** How many actions below the node failed or timed out. */
  failures(node: number): number {
    const at = node * phaseCount;
    return (this.#below[at + ActionPhase.FAILED] ?? 0) + (this.#below[at + ActionPhase.TIMED_OUT] ?? 0);
  }

  /** Takes what has come to the model since. */
  update(): void {
    if (this.model.generation !== this.#generation) this.#clear();
    for (; this.#seen < this.model.size; this.#seen++) this.#add(this.#seen);
    this.#count();
  }

  #clear(): void {
    this.#generation = this.model.generation;
    this.#names = new Map();
    this.#groups = new Map();
    this.#size = 0;
    this.#seen = 0;
  }

  #add(row: number): void {
    const parentRow = this.model.parent(row);
    const parent = parentRow === none ? none : this.#nodes.get(parentRow);
    const group = this.model.group(row);
    const above = group === "" || parent === none ? parent : this.#groupBelow(parent, group);
    this.#nodes.set(row, this.#append(row, above));
  }

  #groupBelow(parent: number, name: string): number {
    const groups = this.#groups.get(parent) ?? new Map<string, number>();
    this.#groups.set(parent, groups);
    let node = groups.get(name);
    if (node === undefined) {
      node = this.#append(none, parent);
      groups.set(name, node);
      this.#names.set(node, name);
    }
    return node;
  }

  #append(row: number, parent: number): number {
    const node = this.#size++;
    this.#rows.set(node, row + 1);
    this.#parents.set(node, parent + 1);
    for (const column of [this.#first, this.#last, this.#next, this.#members]) column.set(node, 0);
    if (parent === none) return node;
    const before = this.#last.get(parent) - 1;
    if (before === none) this.#first.set(parent, node + 1);
    else this.#next.set(before, node + 1);
    this.#last.set(parent, node + 1);
    this.#members.set(parent, this.#members.get(parent) + 1);
    return node;
  }

  #count(): void {
    const wanted = this.#size * phaseCount;
    if (this.#below.length < wanted) this.#below = new Uint32Array(Math.max(wanted, this.#below.length * 2));
    else this.#below.fill(0, 0, wanted);
    const below = this.#below;
    for (let node = this.#size - 1; node > 0; node--) {
      const parent = this.parent(node);
      if (parent === none) continue;
      const row = this.row(node);
      const to = parent * phaseCount;
      if (row !== none) {
        const at = to + this.model.phase(row);
        below[at] = (below[at] ?? 0) + 1;
      }
      if (this.#members.get(node) === 0) continue;
      const from = node * phaseCount;
      for (let phase = 0; phase < phaseCount; phase++) below[to + phase] = (below[to + phase] ?? 0) + (below[from + phase] ?? 0);
    }
  }
}
