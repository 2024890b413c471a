import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import { HistoryBucketSchema } from "@gen/flytebinary/insight/v1/overview_pb.js";
import { bucketsOf, ended, failureRate, totalsOf } from "./buckets";

it("reads buckets, of which each ends where the next begins", () => {
  const buckets = bucketsOf(
    [
      create(HistoryBucketSchema, { from: timestampFromMs(1000), succeeded: 3, failed: 1, p50: { seconds: 1n, nanos: 500_000_000 }, p90: { seconds: 2n } }),
      create(HistoryBucketSchema, { from: timestampFromMs(2000), aborted: 2 }),
    ],
    2500,
  );
  expect(buckets).toMatchObject([
    { from: 1000, to: 2000, p50: 1500, p90: 2000 },
    { from: 2000, to: 2500, p50: undefined, p90: undefined },
  ]);
  expect(buckets.map(failureRate)).toEqual([0.25, undefined]);
  expect(buckets.map(ended)).toEqual([4, 2]);
  expect(totalsOf(buckets)).toEqual({ succeeded: 3, failed: 1, aborted: 2, cached: 0 });
});
