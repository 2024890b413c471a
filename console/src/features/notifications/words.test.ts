import { expect, it } from "vitest";
import { DeliveryKind, DeliveryState } from "@gen/flytebinary/insight/v1/notifications_pb.js";
import { NotificationsSearch } from "./search";
import { canSend, receiverOf, stateLabel, stateOf } from "./words";

it("names the receiver without what is secret", () => {
  const none = { deliveryConfigName: "", rule: "" };
  expect(receiverOf({ ...none, kind: DeliveryKind.WEBHOOK, target: "hooks.example.com" })).toBe("webhook at hooks.example.com");
  expect(receiverOf({ ...none, kind: DeliveryKind.EMAIL, target: "a@example.com" })).toBe("a@example.com");
  expect(receiverOf({ kind: DeliveryKind.WEBHOOK, target: "h", deliveryConfigName: "slack", rule: "r" })).toBe("slack (webhook at h)");
  expect(receiverOf({ kind: DeliveryKind.UNSPECIFIED, target: "unknown", deliveryConfigName: "", rule: "oncall" })).toBe("oncall");
});

it("offers to send what was given up, and what waits after a failure", () => {
  expect(canSend({ state: DeliveryState.DEAD, tries: 1 })).toBe(true);
  expect(canSend({ state: DeliveryState.PENDING, tries: 2 })).toBe(true);
  expect(canSend({ state: DeliveryState.PENDING, tries: 0 })).toBe(false);
  expect(canSend({ state: DeliveryState.DELIVERED, tries: 1 })).toBe(false);
});

it("reads the state from the address, and drops what it does not know", () => {
  expect(NotificationsSearch({ state: "pending" })).toEqual({ state: "pending" });
  expect(NotificationsSearch({ state: "lost" })).toEqual({});
  expect(stateOf("all")).toBe(DeliveryState.UNSPECIFIED);
  expect(stateLabel(DeliveryState.DEAD)).toBe("Undelivered");
  expect(stateLabel(DeliveryState.UNSPECIFIED)).toBe("Unknown");
});
