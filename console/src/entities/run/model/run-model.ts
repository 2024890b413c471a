import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import type { ActionColumns, SnapshotStart, WatchRunActionsResponse } from "@gen/flytebinary/insight/v1/run_actions_pb.js";
import { msOf } from "@/design/format";
import { Column, hashOf, hashOfText, Index } from "./columns";
import { Inputs } from "./inputs";
import { Siblings } from "./siblings";

export enum ActionType {
  Task = 1,
  Trace = 2,
  Condition = 3,
}

/** In place of a row: there is none. */
export const none = -1;

/**
 * All actions of a run in columns: a row for each, in the order in which they were created, so that a parent comes before
 * its children. 100,000 actions take about 19 MB. Rows never move, and are only removed when the server starts a new snapshot, which
 * changes the generation. Listeners are called once for each message.
 */
export class RunModel {
  readonly siblings = new Siblings();
  readonly inputs = new Inputs(this, () => this.#publish());
  readonly #rows = new Index(); // by number
  readonly #byName = new Index();
  #named = 0; // how many rows are in it
  #names: string[] = [];
  #strings: string[] = [];
  // A stream that resumes may send texts that the model already has. The first index of a text is the one that is used.
  readonly #texts = new Map<string, number>();
  readonly #firstOf = new Column();
  // Columns hold unsigned numbers, so those that may have no value are stored plus one.
  readonly #parents = new Column(); // row + 1
  readonly #groups = new Column();
  readonly #titles = new Column();
  readonly #types = new Column();
  readonly #phases = new Column();
  readonly #attempts = new Column();
  readonly #created = new Column();
  readonly #started = new Column(); // + 1
  readonly #ended = new Column(); // + 1
  readonly #flags = new Column();
  readonly #clusters = new Column();
  readonly #numbers = new Column();
  readonly #first = new Column(); // child, row + 1
  readonly #last = new Column();
  readonly #next = new Column(); // sibling, row + 1
  readonly #children = new Column(); // how many
  readonly #counts: number[] = []; // by phase
  readonly #listeners = new Set<() => void>();
  #greatest = -1; // number
  #createdAt = 0;
  #skew = 0; // how far the server's clock is ahead of the browser's, in milliseconds
  #total = 0;
  #cursor = 0n;
  #complete = false;
  #spread = false;
  #version = 0;
  #actionsVersion = 0;
  #generation = 0;

  get size(): number {
    return this.#names.length;
  }

  /** The number of actions when the snapshot began, or more if others came since: for the progress while it loads. */
  get total(): number {
    return Math.max(this.#total, this.size);
  }

  /** Whether the snapshot is complete: later messages are changes. */
  get complete(): boolean {
    return this.#complete;
  }

  /** Where a stream that reconnects resumes; 0 requests a new snapshot. */
  get cursor(): bigint {
    return this.#cursor;
  }

  /** The number of texts. A resumed stream refers to them by index, so the server must know how many there are. */
  get strings(): number {
    return this.#strings.length;
  }

  /** Grows with every change. */
  get version(): number {
    return this.#version;
  }

  /** Grows with every change of actions, but not when inputs become known. */
  get actionsVersion(): number {
    return this.#actionsVersion;
  }

  /** Grows when a new snapshot replaced all rows: a row number kept from before means another action. */
  get generation(): number {
    return this.#generation;
  }

  /** The zero of all offsets, in milliseconds of the epoch. */
  get createdAt(): number {
    return this.#createdAt;
  }

  /** The time on the server's clock, in milliseconds after the run was created. */
  get now(): number {
    return Date.now() + this.#skew - this.#createdAt;
  }

  /** How many actions are in each phase that some are in. */
  get counts(): ReadonlyMap<ActionPhase, number> {
    return new Map(this.#counts.map((count, phase) => [phase, count] as const).filter(([, count]) => count > 0));
  }

  row(name: string): number {
    // Most pages ask for the root, or for nothing.
    if (name === "") return none;
    if (name === this.#names[0]) return 0;
    for (; this.#named < this.size; this.#named++) this.#byName.add(hashOfText(this.name(this.#named)), this.#named);
    return this.#byName.find(hashOfText(name), (row) => this.#names[row] === name) ?? none;
  }
  /** The row's number in requests to the server. */
  number(row: number): number {
    return this.#numbers.get(row);
  }
  name(row: number): string {
    return this.#names[row] ?? "";
  }
  parent(row: number): number {
    return this.#parents.get(row) - 1;
  }
  group(row: number): string {
    return this.#strings[this.#groups.get(row)] ?? "";
  }
  title(row: number): string {
    return this.#strings[this.#titles.get(row)] || this.name(row);
  }
  type(row: number): ActionType {
    return this.#types.get(row);
  }
  phase(row: number): ActionPhase {
    return this.#phases.get(row);
  }
  attempt(row: number): number {
    return this.#attempts.get(row);
  }
  /** In milliseconds after the run was created, as all times here. */
  created(row: number): number {
    return this.#created.get(row);
  }
  /** When it first ran; -1 when it has not. */
  started(row: number): number {
    return this.#started.get(row) - 1;
  }
  /** When it ended; -1 when it has not. */
  ended(row: number): number {
    return this.#ended.get(row) - 1;
  }
  cached(row: number): boolean {
    return (this.#flags.get(row) & 1) !== 0;
  }
  /** The cluster that has it; empty if none has, or the one named default. */
  cluster(row: number): string {
    return this.#strings[this.#clusters.get(row)] ?? "";
  }
  /** Whether actions are in a cluster other than the one named default. */
  get spread(): boolean {
    return this.#spread;
  }
  childCount(row: number): number {
    return this.#children.get(row);
  }
  firstChild(row: number): number {
    return this.#first.get(row) - 1;
  }
  nextSibling(row: number): number {
    return this.#next.get(row) - 1;
  }
  /** In the order of creation. */
  *children(row: number): Generator<number> {
    for (let child = this.firstChild(row); child !== none; child = this.nextSibling(child)) yield child;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  apply(message: WatchRunActionsResponse): void {
    switch (message.part.case) {
      case "start":
        this.#start(message.part.value);
        break;
      case "actions":
        this.#take(message.part.value);
        break;
      case "caughtUp":
        this.#complete = true;
        this.#cursor = message.part.value.cursor;
        this.#skew = (msOf(message.part.value.now) ?? Date.now()) - Date.now();
        break;
      default:
        return;
    }
    this.#actionsVersion++;
    this.inputs.grown();
    this.#publish();
  }

  #publish(): void {
    this.#version++;
    for (const listener of this.#listeners) listener();
  }

  #start(start: SnapshotStart): void {
    this.#createdAt = msOf(start.createdAt) ?? 0;
    this.#total = start.totalActions;
    if (start.resumed) return;
    this.#generation++;
    this.#rows.clear();
    this.#byName.clear();
    this.#named = 0;
    this.#greatest = -1;
    this.#names = [];
    this.#strings = [];
    this.#texts.clear();
    this.#counts.length = 0;
    for (const column of [this.#first, this.#last, this.#next, this.#children, this.#parents]) column.clear();
    this.siblings.clear();
    this.inputs.clear();
    this.#complete = false;
    this.#spread = false;
    this.#cursor = 0n;
  }

  #take(columns: ActionColumns): void {
    for (const text of columns.strings) {
      const index = this.#strings.push(text) - 1;
      const first = this.#texts.get(text) ?? index;
      if (first === index) this.#texts.set(text, index);
      this.#firstOf.set(index, first);
    }
    this.#spread ||= columns.clusters.length > 0;
    columns.numbers.forEach((number, at) => {
      let row = this.#find(number);
      const added = row === undefined;
      if (row === undefined) {
        row = this.#add(number, columns.names[at] ?? "", columns.parents[at] ?? number);
      } else {
        this.#count(this.phase(row), -1); // it is counted again with its new phase
      }
      const phase: ActionPhase = columns.phases[at] ?? 0;
      this.#groups.set(row, this.#firstOf.get(columns.groups[at] ?? 0));
      this.#titles.set(row, this.#firstOf.get(columns.titles[at] ?? 0));
      this.#types.set(row, columns.types[at] ?? 0);
      this.#phases.set(row, phase);
      this.#attempts.set(row, columns.attempts[at] ?? 0);
      this.#created.set(row, columns.created[at] ?? 0);
      this.#started.set(row, columns.started[at] ?? 0);
      this.#ended.set(row, columns.ended[at] ?? 0);
      this.#flags.set(row, columns.flags[at] ?? 0);
      this.#clusters.set(row, columns.clusters[at] ?? 0);
      this.#count(phase, 1);
      if (added) this.siblings.add(row, this.#parents.get(row), this.#groups.get(row), this.#titles.get(row));
    });
  }

  #add(number: number, name: string, parentNumber: number): number {
    const row = this.#names.length;
    this.#rows.add(hashOf(number), row);
    this.#greatest = Math.max(this.#greatest, number);
    this.#names.push(name);
    this.#numbers.set(row, number);
    // The root names itself as its parent.
    const parent = parentNumber === number ? undefined : this.#find(parentNumber);
    if (parent === undefined) return row;
    this.#parents.set(row, parent + 1);
    const before = this.#last.get(parent) - 1;
    if (before === none) this.#first.set(parent, row + 1);
    else this.#next.set(before, row + 1);
    this.#last.set(parent, row + 1);
    this.#children.set(parent, this.#children.get(parent) + 1);
    return row;
  }

  #find(number: number): number | undefined {
    if (number > this.#greatest) return undefined; // so are most while a run loads
    return this.#rows.find(hashOf(number), (row) => this.#numbers.get(row) === number);
  }

  #count(phase: ActionPhase, by: number): void {
    this.#counts[phase] = (this.#counts[phase] ?? 0) + by;
  }
}
