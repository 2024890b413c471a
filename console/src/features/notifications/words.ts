import { DeliveryKind, DeliveryState, type Delivery } from "@gen/flytebinary/insight/v1/notifications_pb.js";
import { t } from "@/texts/texts";
import type { StateKey } from "./search";

/** The states as people read them, in the order of the filter. */
export const stateLooks: readonly { readonly key: StateKey; readonly state: DeliveryState; readonly label: string }[] = [
  { key: "dead", state: DeliveryState.DEAD, label: t("Undelivered") },
  { key: "pending", state: DeliveryState.PENDING, label: t("Pending") },
  { key: "delivered", state: DeliveryState.DELIVERED, label: t("Delivered") },
  { key: "all", state: DeliveryState.UNSPECIFIED, label: t("All") },
];

export const stateOf = (key: StateKey): DeliveryState => stateLooks.find((look) => look.key === key)?.state ?? DeliveryState.UNSPECIFIED;

export const stateLabel = (state: DeliveryState): string => stateLooks.find((look) => look.state === state && look.key !== "all")?.label ?? t("Unknown");

/** What a notification is sent to, as far as it may be shown. */
export function receiverOf({ kind, target, deliveryConfigName, rule }: Pick<Delivery, "kind" | "target" | "deliveryConfigName" | "rule">): string {
  if (kind === DeliveryKind.UNSPECIFIED) return deliveryConfigName || rule || "unknown";
  const how = kind === DeliveryKind.EMAIL ? target : t("webhook at {target}", { target });
  return deliveryConfigName ? `${deliveryConfigName} (${how})` : how;
}

/** Whether a person can have it sent (again) now. */
export const canSend = ({ state, tries }: Pick<Delivery, "state" | "tries">): boolean =>
  state === DeliveryState.DEAD || (state === DeliveryState.PENDING && tries > 0);
