import type { ActivityBucket } from "@gen/flytebinary/insight/v1/overview_pb.js";
import { t } from "@/texts/texts";
import { inWords, layers, sizeOf } from "./activity";
import css from "./home.module.css";

const height = 24;

/** The runs of the last 24 hours, one bar per hour, by outcome. */
export function ActivityBars({ buckets }: { readonly buckets: readonly ActivityBucket[] }) {
  const tallest = Math.max(1, ...buckets.map(sizeOf));
  const words = t("Last 24 hours, {counts}", { counts: inWords(buckets) });
  return (
    <svg className={css["bars"]} viewBox={`0 0 ${buckets.length * 4} ${height}`} preserveAspectRatio="none" role="img" aria-label={words}>
      <title>{words}</title>
      {buckets.map((bucket, at) => {
        let y = height;
        return layers.map(([key, colour]) => {
          const barHeight = (bucket[key] / tallest) * (height - 1);
          y -= barHeight;
          return barHeight > 0 && <rect key={`${at}${key}`} x={at * 4} y={y} width={3} height={barHeight} style={{ fill: `var(${colour})` }} />;
        });
      })}
      <line x1={0} x2={buckets.length * 4} y1={height} y2={height} className={css["ground"]} />
    </svg>
  );
}
