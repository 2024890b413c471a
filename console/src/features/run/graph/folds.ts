/** How many nodes of a list are drawn at first, and how many more on each request. */
const page = 25;

/** What is folded and unfolded, and how much of long lists is drawn. */
export class Folds {
  readonly #open = new Set<string>();
  readonly #closed = new Set<string>();
  readonly #limits = new Map<string, number>();
  readonly #kept = new Map<string, Set<string>>(); // by list, so that what is drawn does not go away when other things fail
  #pinned: ReadonlySet<string> = new Set();

  /** Whether a node is open. A node that the user did not toggle opens when that is suggested, and then stays open. */
  isOpen(id: string, suggested: boolean): boolean {
    if (this.#open.has(id)) return true;
    if (!suggested || this.#closed.has(id)) return false;
    this.#open.add(id);
    return true;
  }

  set(id: string, open: boolean): void {
    if (open) {
      this.#closed.delete(id);
      this.#open.add(id);
    } else {
      this.#open.delete(id);
      this.#closed.add(id);
      this.#kept.delete(id);
      this.#limits.delete(id);
    }
  }

  /** Closes all but one. */
  closeAll(ids: Iterable<string>, but: string): void {
    for (const id of ids) this.set(id, id === but);
  }

  /** How many nodes of a list are wanted. */
  limit(list: string): number {
    return this.#limits.get(list) ?? page;
  }

  more(list: string): void {
    this.#limits.set(list, this.limit(list) + page);
  }

  /** Has these drawn in any case. */
  pin(ids: ReadonlySet<string>): void {
    this.#pinned = ids;
  }

  /** Chooses from a list that is too long: what was chosen before, what is pinned, what failed, and then from the beginning. */
  choose<T>(list: string, entries: readonly T[], limit: number, idOf: (entry: T) => string, failed: (entry: T) => boolean): readonly T[] {
    if (entries.length <= limit) return entries;
    const kept = this.#kept.get(list);
    const chosen = new Set<number>();
    const take = (wanted: (entry: T) => boolean) => {
      for (let i = 0; i < entries.length && chosen.size < limit; i++) {
        const entry = entries[i];
        if (entry !== undefined && !chosen.has(i) && wanted(entry)) chosen.add(i);
      }
    };
    if (this.#pinned.size > 0) take((entry) => this.#pinned.has(idOf(entry)));
    if (kept) take((entry) => kept.has(idOf(entry)));
    take(failed);
    take(() => true);
    const result = entries.filter((_, i) => chosen.has(i));
    this.#kept.set(list, new Set(result.map(idOf)));
    return result;
  }
}
