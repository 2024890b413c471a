import { expect, test } from "vitest";
import { create } from "@bufbuild/protobuf";
import { UseSchema } from "@gen/flytebinary/insight/v1/health_pb.js";
import { change, changed, costOf, hours, hoursOf, money, percent } from "./use";

test("money has the sign of its currency, and digits that say something", () => {
  expect(money(1.84, "USD")).toBe("$1.84");
  expect(money(0.00123, "EUR")).toBe("€0.0012");
  expect(money(0, "USD")).toBe("$0.00");
  expect(money(0.00004, "USD")).toBe("< $0.0001");
  expect(money(3, "credits!")).toBe("3.00 credits!");
});

test("without prices there are hours", () => {
  const use = create(UseSchema, { coreHours: 1.25, gibHours: 0.01234, gpuHours: 0, cost: 7 });
  expect(costOf(use, "")).toBe("1.3 core-h");
  expect(costOf(use, "USD")).toBe("$7.00");
  expect(hoursOf(use)).toBe("1.3 core-h, 0.012 GiB-h");
  expect([0, 0.0001, 1234.5].map(hours)).toEqual(["0", "< 0.001", "1,235"]);
});

test("changes have a sign, and large ones are factors", () => {
  expect([0.12, -0.5, 0.001, 11].map(change)).toEqual(["+12 %", "−50 %", "± 0 %", "× 12"]);
  expect(changed(2, 0)).toBeUndefined();
  expect(changed(3, 2)).toBe("+50 %");
  expect([0, 0.004, 0.31].map(percent)).toEqual(["0 %", "0.4 %", "31 %"]);
});
