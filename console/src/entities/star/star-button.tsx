import { Star } from "lucide-react";
import { IconButton } from "@/design/button";
import { t } from "@/texts/texts";
import { useStars, type Starred } from "./use-stars";
import css from "./star.module.css";

/** Gives what it is about a star of the reader, or takes it away. The home page lists what has one. */
export function StarButton({ of, stars }: { readonly of: Starred; readonly stars: ReturnType<typeof useStars> }) {
  if (!stars.known) return null;
  const on = stars.has(of);
  return (
    <IconButton
      small
      kind="quiet"
      className={on ? css["on"] : css["off"]}
      label={of.kind === "run" ? t("Star run {name}", { name: of.name }) : t("Star task {name}", { name: of.name })}
      aria-pressed={on}
      data-testid="star"
      disabled={stars.changing}
      denied={stars.denied(of)}
      onClick={() => stars.set(of, !on)}
    >
      <Star size={14} aria-hidden fill={on ? "currentColor" : "none"} />
    </IconButton>
  );
}

/** A star for a page that has one. */
export function PageStar({ of }: { readonly of: Starred }) {
  return <StarButton of={of} stars={useStars()} />;
}
