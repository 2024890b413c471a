import { createContext, type ReactNode } from "react";

/**
 * Renders what a page offers for the file or directory with this URI. A context, because such values may be anywhere inside others, and
 * only pages of actions know how to download them.
 */
export const StoredActions = createContext<(uri: string) => ReactNode>(() => null);
