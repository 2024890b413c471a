import type { ELK } from "elkjs/lib/elk-api";
import { t } from "@/texts/texts";
import type { Edge } from "./edges";
import { elkLayout, treeLayout, type Layout } from "./layout";
import type { Picture } from "./picture";

/** The timeout of a layout, in milliseconds. */
const timeout = 20_000;

/** Lays out pictures: trees directly, others in a worker, which is started on demand. */
export class Layouter {
  #elk: Promise<ELK> | undefined;
  #fail: ((error: Error) => void) | undefined;
  /** Why the last layout is a tree layout although the worker should have made it; undefined if it is not. */
  failure: string | undefined;

  /** Never rejects: if the worker fails, it returns a tree layout. */
  async layOut(picture: Picture, edges: readonly Edge[]): Promise<Layout> {
    if (edges.every((edge) => edge.kind === "child")) {
      this.failure = undefined;
      return treeLayout(picture, edges);
    }
    try {
      const failed = new Promise<never>((_, reject) => {
        this.#fail = reject;
      });
      const elk = await Promise.race([(this.#elk ??= this.#start()), failed]);
      const timer = setTimeout(() => this.#fail?.(new Error("it took longer than 20 s")), timeout);
      try {
        const layout = await Promise.race([elkLayout(elk, picture, edges), failed]);
        this.failure = undefined;
        return layout;
      } finally {
        clearTimeout(timer);
      }
    } catch (error) {
      this.failure = error instanceof Error ? error.message : t("the worker did not start");
      this.stop();
      return treeLayout(picture, edges);
    }
  }

  /** Terminates the worker; the next layout starts a new one. */
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
        worker.addEventListener("error", (event) => this.#fail?.(new Error(event.message || "the worker could not be loaded")));
        return worker;
      },
    });
  }
}
