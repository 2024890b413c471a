import { createContext, type ReactNode } from "react";
import type { Value } from "./value-type";

/** A value that is in the object store. */
export type StoredPointer = Extract<Value, { kind: "stored" }>;

/**
 * Renders what a page offers for a file, a directory or a table. A context, because such values may be anywhere inside others, and only
 * pages of actions know how to read them.
 */
export const StoredActions = createContext<(pointer: StoredPointer) => ReactNode>(() => null);
