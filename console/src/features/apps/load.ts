import { durationMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { AppTraffic } from "@gen/flytebinary/insight/v1/apps_pb.js";

/** The load of an app in an interval. Times are in milliseconds. */
export interface Load {
  readonly from: number;
  readonly to: number;
  /** Per second. */
  readonly answered: number;
  /** Requests per second that failed. */
  readonly failed: number;
  readonly requests: number;
  readonly errors: number;
  readonly concurrency: number;
  /** The time to the first byte; undefined without requests. */
  readonly p50: number | undefined;
  readonly p99: number | undefined;
  readonly replicas: number;
}

export function loadsOf(traffic: readonly AppTraffic[]): Load[] {
  return traffic.map(({ start, length, requests, errors, concurrency, p50, p99, replicas }) => {
    const from = start ? timestampMs(start) : 0;
    const ms = length ? durationMs(length) : 0;
    const [all, bad] = [Number(requests), Number(errors)];
    const rate = (n: number) => (ms > 0 ? (n * 1000) / ms : 0);
    return {
      ...{ from, to: from + ms, answered: rate(all - bad), failed: rate(bad), requests: all, errors: bad },
      ...{ concurrency, p50: p50 && durationMs(p50), p99: p99 && durationMs(p99), replicas },
    };
  });
}

/** A number with at most two digits behind the point, fewer for large ones: "0.05", "3.2", "120". */
export const number = (n: number): string => String(n >= 100 ? Math.round(n) : n >= 1 ? Math.round(n * 10) / 10 : Math.round(n * 100) / 100);
