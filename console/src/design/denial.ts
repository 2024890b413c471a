import type { ReactNode } from "react";

/** Why the reader may not do something. */
export interface Denial {
  readonly why: string;
  /** Whom to ask, and in which words. It is drawn only where there is room for it. */
  readonly more?: ReactNode;
  /** The call that is denied, for tests. */
  readonly call?: string;
}
