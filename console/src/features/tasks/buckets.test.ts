import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import { HistoryBucketSchema } from "@gen/flytebinary/insight/v1/overview_pb.js";
import { bucketsOf, ended, failureRate, pieces, roundUp, totalsOf } from "./buckets";

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

it.each([
  [0, 1],
  [1, 1],
  [3, 5],
  [7, 10],
  [1500, 2000],
  [0.03, 0.05],
])("rounds %d up to %d", (value, round) => expect(roundUp(value)).toBeCloseTo(round));

it("interrupts a line where nothing is known", () => {
  expect(pieces([1, 2, undefined, undefined, 4], 4)).toEqual([
    [
      [0, 0.25],
      [1, 0.5],
    ],
    [[4, 1]],
  ]);
  expect(pieces([undefined], 1)).toEqual([]);
});
