import { DeliveryState } from "@gen/flytebinary/insight/v1/notifications_pb.js";
import { DataTable } from "@/design/data-table";
import { Empty } from "@/design/notice";
import { t } from "@/texts/texts";
import { deliveryTable } from "./delivery-table";
import { useDeliveries, useSendAgain, type Run } from "./use-deliveries";

/** The notifications of a run, with the outcome of each. */
export function RunNotifications({ run }: { readonly run: Run }) {
  const { deliveries, answer } = useDeliveries(run, DeliveryState.UNSPECIFIED);
  const send = useSendAgain();
  return <DataTable what={t("notifications")} more={t("More")} empty={<Empty title={t("No notifications")} />} answer={answer} rows={deliveries} {...deliveryTable(send, false)} />;
}
