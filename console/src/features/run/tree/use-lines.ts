import { useCallback, useMemo, useState } from "react";
import type { Found } from "../find";
import { none, type RunModel } from "@/entities/run/model/run-model";
import { linesOf, type Lines } from "./lines";
import { above, openness, type Choices } from "./openness";
import { Outline } from "./outline";

export interface OpenLines {
  readonly outline: Outline;
  readonly lines: Lines;
  readonly isOpen: (node: number) => boolean;
  /** Opens or closes nodes. */
  readonly choose: (nodes: Iterable<number>, open: boolean) => void;
}

/** The lines of a run's tree. The ancestors of the selected action are expanded. */
export function useLines(model: RunModel, version: number, found: Found | undefined, selected: string): OpenLines {
  const outline = useMemo(() => new Outline(model), [model]);
  const [choices, setChoices] = useState<Choices>(new Map());
  const view = useMemo(() => {
    outline.update();
    const revealed = above(outline, outline.node(model.row(selected)));
    const isOpen = openness(outline, choices, found !== undefined, revealed);
    return { isOpen, lines: linesOf(outline, isOpen, found?.shown ?? everyRow) };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the model changes in place; its version says when
  }, [outline, model, version, found, choices, selected]);
  const choose = useCallback(
    (nodes: Iterable<number>, open: boolean) =>
      setChoices((before) => {
        const after = new Map(before);
        for (const node of nodes) after.set(outline.key(node), open);
        return after;
      }),
    [outline],
  );
  return { outline, choose, ...view };
}

const everyRow = (): boolean => true;

/** All nodes with children except the root. */
export function* parentsIn(outline: Outline): Generator<number> {
  for (let node = 0; node < outline.size; node++) {
    if (outline.first(node) !== none && outline.parent(node) !== none) yield node;
  }
}
