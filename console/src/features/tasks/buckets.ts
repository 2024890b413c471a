import { durationMs } from "@bufbuild/protobuf/wkt";
import type { HistoryBucket } from "@gen/flytebinary/insight/v1/overview_pb.js";
import { msOf } from "@/design/format";

/** The actions that ended in an interval. Times are in milliseconds. */
export interface Bucket {
  readonly from: number;
  readonly to: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly aborted: number;
  readonly cached: number;
  /** The duration of those that succeeded; undefined if none did. */
  readonly p50: number | undefined;
  readonly p90: number | undefined;
}

/** The buckets of an answer. Each ends where the next begins, the last one now. */
export function bucketsOf(buckets: readonly HistoryBucket[], now: number): Bucket[] {
  return buckets.map((one, at) => ({
    from: msOf(one.from) ?? 0,
    to: msOf(buckets[at + 1]?.from) ?? now,
    succeeded: one.succeeded,
    failed: one.failed,
    aborted: one.aborted,
    cached: one.cached,
    p50: one.p50 && durationMs(one.p50),
    p90: one.p90 && durationMs(one.p90),
  }));
}

/** The share that failed, from 0 to 1, without aborted actions; undefined if there are none. */
export const failureRate = ({ succeeded, failed }: Pick<Bucket, "succeeded" | "failed">): number | undefined =>
  succeeded + failed === 0 ? undefined : failed / (succeeded + failed);

/** The actions that ended, however they did. */
export const ended = ({ succeeded, failed, aborted }: Pick<Bucket, "succeeded" | "failed" | "aborted">): number => succeeded + failed + aborted;

/** The sums over all buckets. */
export interface Totals {
  readonly succeeded: number;
  readonly failed: number;
  readonly aborted: number;
  readonly cached: number;
}

export const totalsOf = (buckets: readonly Bucket[]): Totals =>
  buckets.reduce(
    (sum, one) => ({
      succeeded: sum.succeeded + one.succeeded,
      failed: sum.failed + one.failed,
      aborted: sum.aborted + one.aborted,
      cached: sum.cached + one.cached,
    }),
    {
      succeeded: 0,
      failed: 0,
      aborted: 0,
      cached: 0,
    },
  );
