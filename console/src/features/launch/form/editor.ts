import type { ComponentType, Dispatch, ReactNode, SetStateAction } from "react";
import type { Draft } from "./draft";
import type { Field } from "./field";

export interface EditorProps<F extends Field = Field> {
  readonly field: F;
  readonly draft: Draft;
  readonly onChange: Dispatch<SetStateAction<Draft>>;
  /** Where the value is, such as x[2].y. */
  readonly path: string;
  readonly label: ReactNode;
  readonly about?: string | undefined;
}

/** The props of an editor of a value with parts, which gets the editor for them. */
export interface CompoundProps<F extends Field> extends EditorProps<F> {
  readonly Editor: ComponentType<EditorProps>;
}

/** The text of a draft; empty for drafts of other kinds. */
export const textOf = (draft: Draft): string => (draft.kind === "text" ? draft.text : "");
