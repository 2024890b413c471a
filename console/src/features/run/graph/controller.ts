import { none, type RunModel } from "@/entities/run/model/run-model";
import { inChunks } from "@/features/run/pacing/chunks";
import { Recount } from "@/features/run/pacing/recount";
import { edgesOf, type Edge } from "./edges";
import { Flows, type AskFlows } from "./flows";
import { Folds } from "./folds";
import { emptyLayout, heightOf, nodeWidth, type Layout } from "./layout";
import { Layouter } from "./layouter";
import { actionId, emptyPicture, groupId, pictureOf, type GraphNode, type Picture } from "./picture";
import { fitted, opening, revealed, toGraph, toScreen, within, zoomed, type Box, type Sight } from "./sight";

/** The elements that the graph moves. */
export interface Stage {
  /** The window through which it is seen. */
  readonly frame: HTMLElement;
  /** What is moved and scaled behind it. */
  readonly world: HTMLElement;
}

/** What the page draws. It is a new object whenever something of it changed. */
export interface Shown {
  readonly picture: Picture;
  readonly edges: readonly Edge[];
  readonly layout: Layout;
  /** The node of the keyboard. */
  readonly cursor: string;
  /** Whether a new layout is on its way. */
  readonly busy: boolean;
  /** Why the layout is a plain one. */
  readonly failure: string | undefined;
  /** Whether data flows between only some of the children are known. */
  readonly truncated: boolean;
}

/** How often the picture is made again while the run changes, in milliseconds. */
const recount = 500;

/** The graph outside of React: it knows what is drawn and where, and has it laid out when its shape changes. */
export class Graph {
  readonly flows: Flows;
  readonly #folds = new Folds();
  readonly #layouter = new Layouter();
  readonly #work = new Recount((signal) => this.#count(signal));
  readonly #listeners = new Set<() => void>();
  #stage: Stage | undefined;
  #visible: (row: number) => boolean = () => true;
  #sight: Sight | undefined; // undefined until there is something to see
  #moved = false; // by the reader, who from then on is left where they are
  #shape = "";
  #wantedShape = "";
  #laying = false;
  #held: { readonly id: string; readonly x: number; readonly y: number } | undefined;
  #reveal = "";
  #shown: Shown = { picture: emptyPicture, edges: [], layout: emptyLayout, cursor: "", busy: false, failure: undefined, truncated: false };

  constructor(
    readonly model: RunModel,
    ask: AskFlows,
  ) {
    this.flows = new Flows(model, ask, () => this.#want(0));
  }

  get shown(): Shown {
    return this.#shown;
  }
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Begins to draw; the returned function ends it. */
  attach(stage: Stage): () => void {
    this.#stage = stage;
    const size = new ResizeObserver(() => {
      this.#reveal = this.#shown.cursor; // a selection opens a panel over part of the graph, which must not cover it
      this.#keepPlace();
    });
    size.observe(stage.frame);
    this.#want(0);
    return () => {
      size.disconnect();
      this.#work.stop();
      this.flows.stop();
      this.model.inputs.want("graph", []);
      this.#layouter.stop();
      this.#stage = undefined;
    };
  }

  /** Says that the model or what is visible of it changed. */
  update(visible: (row: number) => boolean): void {
    const filtered = visible !== this.#visible;
    this.#visible = visible;
    this.#want(filtered || this.#shown.picture.nodes.length === 0 ? 0 : recount);
  }

  /** Puts the cursor on an action and the action into sight, opening what it is below. */
  select(row: number): void {
    if (row === none) return;
    const id = actionId(this.model, row);
    if (id === this.#shown.cursor) return;
    const pinned = new Set<string>();
    for (let at = row; at !== none; at = this.model.parent(at)) {
      pinned.add(actionId(this.model, at));
      const above = this.model.parent(at);
      if (above === none) break;
      pinned.add(groupId(this.model, at));
    }
    if (!this.#shown.picture.byId.has(id)) {
      for (const above of pinned) if (above !== id) this.#folds.set(above, true);
      this.#folds.pin(pinned);
      this.#want(0);
    }
    this.#reveal = id;
    this.#publish({ cursor: id });
    this.#revealCursor();
  }

  /** Puts the cursor on a node. */
  point(id: string): void {
    this.#moved = true;
    this.#reveal = id;
    this.#publish({ cursor: id });
    this.#revealCursor();
  }

  toggle(node: GraphNode): void {
    this.#moved = true;
    this.#hold(node.id);
    if (node.kind === "more") {
      if (node.full) return;
      this.#folds.more(node.parent);
    } else {
      this.#folds.set(node.id, !node.open);
    }
    this.#want(0);
  }

  /** Folds everything below the root's children. */
  foldAll(): void {
    this.#moved = true;
    const { picture } = this.#shown;
    const root = picture.nodes[0];
    if (!root) return;
    this.#hold(root.id);
    this.#folds.closeAll(
      picture.nodes.filter((node) => node.open).map((node) => node.id),
      root.id,
    );
    this.#reveal = root.id;
    this.#publish({ cursor: root.id });
    this.#want(0);
  }

  /** Draws larger by a factor; a point of the frame stays where it is, the middle when unset. */
  zoom(factor: number, x?: number, y?: number): void {
    this.#moved = true;
    const { width, height } = this.#size;
    if (this.#sight) this.#move(zoomed(this.#sight, factor, { x: x ?? width / 2, y: y ?? height / 2 }));
  }

  pan(dx: number, dy: number): void {
    this.#moved = true;
    if (this.#sight) this.#move({ ...this.#sight, x: this.#sight.x + dx, y: this.#sight.y + dy });
  }

  fit(): void {
    this.#moved = true;
    this.#move(fitted(this.#shown.layout, this.#size));
  }

  get #size(): { readonly width: number; readonly height: number } {
    return { width: this.#stage?.frame.clientWidth ?? 1, height: this.#stage?.frame.clientHeight ?? 1 };
  }

  #want(pause: number): void {
    if (this.#stage) this.#work.want(pause);
  }

  #move(sight: Sight | undefined): void {
    if (!sight || !this.#stage) return;
    this.#sight = within(sight, this.#shown.layout, this.#size);
    const { x, y, k } = this.#sight;
    this.#stage.world.style.transform = `translate(${x}px, ${y}px) scale(${k})`;
    this.#stage.world.dataset["far"] = String(k < 0.45);
  }

  /** Remembers where a node is on the screen, so that it is there again in the next layout. */
  #hold(id: string): void {
    const at = this.#shown.layout.places.get(id);
    if (!at || !this.#sight) return;
    this.#held = { id, ...toScreen(this.#sight, at) };
  }

  /** Holds what is drawn nearest to the middle and will be drawn again. */
  #holdMiddle(next: Picture): void {
    if (this.#held && next.byId.has(this.#held.id)) return;
    if (!this.#sight) return;
    const { width, height } = this.#size;
    const middle = toGraph(this.#sight, { x: width / 2, y: height / 2 });
    let [best, least] = ["", Number.POSITIVE_INFINITY];
    for (const [id, { x, y }] of this.#shown.layout.places) {
      const far = Math.hypot(x + nodeWidth / 2 - middle.x, y - middle.y);
      if (far < least && next.byId.has(id)) [best, least] = [id, far];
    }
    this.#hold(best);
  }

  async #count(signal: AbortSignal): Promise<void> {
    const picture = await inChunks(pictureOf(this.model, this.#visible, this.#folds), signal);
    if (!picture) return;
    this.flows.want(picture.parents);
    this.model.inputs.want(
      "graph",
      picture.nodes.flatMap((node) => (node.kind === "action" ? [node.row] : [])),
    );
    const edges = edgesOf(this.model, picture, (row) => this.flows.of(row));
    const shape = [...picture.nodes.map((node) => node.id), ...edges.map((edge) => edge.id)].join("\n");
    if (shape === this.#shape) {
      this.#wantedShape = shape;
      this.#publish({ picture, edges, truncated: this.flows.truncated(picture.parents) });
      return;
    }
    this.#wantedShape = shape;
    if (!this.#laying) void this.#layOut(picture, edges, shape);
  }

  async #layOut(picture: Picture, edges: readonly Edge[], shape: string): Promise<void> {
    this.#laying = true;
    this.#publish({ busy: true });
    const layout = await this.#layouter.layOut(picture, edges);
    this.#laying = false;
    if (!this.#stage) return;
    this.#holdMiddle(picture);
    this.#shape = shape;
    const cursor = picture.byId.has(this.#shown.cursor) || this.#reveal === this.#shown.cursor ? this.#shown.cursor : "";
    this.#publish({ picture, edges, layout, cursor, busy: false, failure: this.#layouter.failure, truncated: this.flows.truncated(picture.parents) });
    this.#keepPlace();
    if (this.#wantedShape !== shape) this.#want(0); // it continued meanwhile
  }

  /** Finds a sight for a new layout or a new size of the frame. */
  #keepPlace(): void {
    const { layout, picture } = this.#shown;
    const at = this.#held && layout.places.get(this.#held.id);
    if (!this.#sight || !this.#moved) {
      const root = picture.nodes[0];
      if (root) this.#move(opening(layout, this.#size, this.#boxOf(root)));
      this.#reveal = this.#shown.cursor;
    } else if (this.#held && at) {
      this.#move({ ...this.#sight, x: this.#held.x - this.#sight.k * at.x, y: this.#held.y - this.#sight.k * at.y });
    } else {
      this.#move(this.#sight);
    }
    this.#held = undefined;
    this.#revealCursor();
  }

  #boxOf(node: GraphNode): Box {
    return { ...(this.#shown.layout.places.get(node.id) ?? { x: 0, y: 0 }), width: nodeWidth, height: heightOf(node) };
  }

  #revealCursor(): void {
    const node = this.#shown.picture.byId.get(this.#reveal);
    if (!node || !this.#sight || !this.#shown.layout.places.has(node.id)) return; // it may come yet
    this.#reveal = "";
    this.#move(revealed(this.#sight, this.#boxOf(node), this.#size));
  }

  #publish(change: Partial<Shown>): void {
    this.#shown = { ...this.#shown, ...change };
    for (const listener of this.#listeners) listener();
  }
}
