import { useEffect } from "react";

const product = "flyte-binary";

/** Names the page in the browser's tab and history, the most particular first; empty parts are left out. */
export function useTitle(...parts: readonly string[]): void {
  const title = [...parts.filter(Boolean), product].join(" · ");
  useEffect(() => {
    document.title = title;
    return () => {
      document.title = product;
    };
  }, [title]);
}
