import { Fragment } from "react";
import type { Said } from "@/texts/server";

/** What the server says. What it says in another language than the page's is marked, for screen readers and translators. */
export function SaidText({ of }: { readonly of: Said | readonly Said[] }) {
  const all = Array.isArray(of) ? (of as readonly Said[]) : [of as Said];
  return all.map(({ text, lang }, at) => (
    <Fragment key={at}>
      {at > 0 && " "}
      {lang === undefined ? text : <span lang={lang}>{text}</span>}
    </Fragment>
  ));
}
