import type { ELK } from "elkjs/lib/elk-api";
import type { Edge } from "./edges";
import { elkLayout, treeLayout, type Layout } from "./layout";
import type { Picture } from "./picture";

/** Nobody waits longer for a layout, in milliseconds. */
const patience = 20_000;

/** Lays pictures out: trees at once, others in a worker of its own, which is started for the first of them. */
export class Layouter {
  #elk: Promise<ELK> | undefined;
  #given: ((error: Error) => void) | undefined;
  /** Why a layout that should have come from the worker is a plain one; undefined when it is as it should be. */
  failure: string | undefined;

  /** Never fails: when the worker does, the layout is a plain one. */
  async layOut(picture: Picture, edges: readonly Edge[]): Promise<Layout> {
    if (edges.every((edge) => edge.kind === "child")) {
      this.failure = undefined;
      return treeLayout(picture, edges);
    }
    try {
      const failed = new Promise<never>((_, reject) => {
        this.#given = reject;
      });
      const elk = await Promise.race([(this.#elk ??= this.#start()), failed]);
      const timer = setTimeout(() => this.#given?.(new Error("it took too long")), patience);
      try {
        const layout = await Promise.race([elkLayout(elk, picture, edges), failed]);
        this.failure = undefined;
        return layout;
      } finally {
        clearTimeout(timer);
      }
    } catch (error) {
      this.failure = error instanceof Error ? error.message : "it did not start";
      this.stop();
      return treeLayout(picture, edges);
    }
  }

  /** Ends the worker; the next layout starts another. */
  stop(): void {
    const elk = this.#elk;
    this.#elk = undefined;
    void elk?.then((started) => started.terminateWorker()).catch(() => undefined);
  }

  async #start(): Promise<ELK> {
    const [{ default: Elk }, { default: url }] = await Promise.all([import("elkjs/lib/elk-api"), import("elkjs/lib/elk-worker.min.js?url")]);
    return new Elk({
      workerFactory: () => {
        const worker = new Worker(url, { name: "layout" });
        worker.addEventListener("error", (event) => this.#given?.(new Error(event.message || "its program could not be loaded")));
        return worker;
      },
    });
  }
}
