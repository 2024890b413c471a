import { useEffect } from "react";

const product = "flyte-binary";

/** Sets the title of the document, most specific part first. Empty parts are skipped. */
export function useTitle(...parts: readonly string[]): void {
  const title = [...parts.filter(Boolean), product].join(" · ");
  useEffect(() => {
    document.title = title;
    return () => {
      document.title = product;
    };
  }, [title]);
}
