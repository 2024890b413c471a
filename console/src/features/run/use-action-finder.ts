import { useCallback, useEffect } from "react";
import { useFinder, type Command } from "@/app/commands";
import { nameOf } from "@/entities/action/identity";
import { matchesTerm, termsOf } from "@/entities/action/terms";
import type { RunModel } from "@/entities/run/model/run-model";
import { t } from "@/texts/texts";

const maxFound = 8;

/** Offers the actions of the run in the palette: by task, name, position and input. */
export function useActionFinder(model: RunModel, version: number, onSelect: (action: string) => void): void {
  const finder = useCallback(
    (typed: string): readonly Command[] => {
      const terms = version < 0 ? [] : termsOf(typed);
      model.inputs.search("palette", terms.length > 0);
      const found: Command[] = [];
      if (terms.length === 0) return found;
      for (let row = 0; row < model.size && found.length < maxFound; row++) {
        if (!terms.every((term) => matchesTerm(model, row, term))) continue;
        const name = model.name(row);
        found.push({ title: t("Action {name}", { name: nameOf(model, row) }), key: `action ${name}`, run: () => onSelect(name) });
      }
      return found;
    },
    [model, version, onSelect],
  );
  useFinder(finder);
  useEffect(() => () => model.inputs.search("palette", false), [model]);
}
