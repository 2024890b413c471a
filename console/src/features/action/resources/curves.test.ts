import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { UsagePointSchema } from "@gen/flytebinary/insight/v1/usage_pb.js";
import { cores, cpu, memory, spread, timeOf, topOf } from "./curves";

const point = (second: number, cpuMilli?: number, memoryBytes?: number) =>
  create(UsagePointSchema, {
    at: timestampFromMs(1_000_000 + second * 1000),
    used: {
      ...(cpuMilli === undefined ? {} : { cpuMilli: BigInt(cpuMilli) }),
      ...(memoryBytes === undefined ? {} : { memoryBytes: BigInt(memoryBytes) }),
    },
  });

test("regular points are columns as they are", () => {
  const points = [point(0, undefined, 10), point(15, 100, 20), point(30, 200, 15)];
  expect(spread(points, memory.of)).toEqual([10, 20, 15]);
  expect(spread(points, cpu.of)).toEqual([undefined, 100, 200]);
  expect(timeOf(points, 1)?.getTime()).toBe(1_015_000);
});

test("a point holds back to the one before it", () => {
  const seconds = [0, 10, 20, 60, 70, 80, 90, 100, 110, 120];
  const points = seconds.map((second, at) => point(second, at + 1));
  const values = spread(points, cpu.of);
  expect(values).toHaveLength(10);
  expect(values.every((value) => value !== undefined)).toBe(true);
  expect(values.at(-1)).toBe(10);
});

test("many points keep their highest", () => {
  const points = Array.from({ length: 240 }, (_, at) => point(at * 15, at === 101 ? 5000 : 10));
  expect(spread(points, cpu.of)).toHaveLength(120);
  expect(Math.max(...spread(points, cpu.of).map((value) => value ?? 0))).toBe(5000);
});

test("without points there is nothing", () => {
  expect(spread([], cpu.of)).toEqual([]);
  expect(timeOf([], 0)).toBeUndefined();
});

test("a limit far above the curve does not flatten it", () => {
  expect(topOf(100, [200, 100_000])).toBeCloseTo(250);
  expect(topOf(0, [undefined])).toBeCloseTo(1.25);
});

test("cores are written as people do", () => {
  expect(cores(1000)).toBe("1 core");
  expect(cores(250)).toBe("0.25 cores");
  expect(cores(12_345)).toBe("12.3 cores");
});
