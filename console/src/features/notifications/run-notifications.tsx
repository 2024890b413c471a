import { DeliveryState } from "@gen/flytebinary/insight/v1/notifications_pb.js";
import { Button } from "@/design/button";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { DeliveryTable } from "./delivery-table";
import { useDeliveries, useSendAgain, type Run } from "./use-deliveries";

/** The notifications of a run, with what became of each. */
export function RunNotifications({ run }: { readonly run: Run }) {
  const found = useDeliveries(run, DeliveryState.UNSPECIFIED);
  const send = useSendAgain();
  if (found.error) return <ProblemNotice error={found.error} retry={found.refetch} />;
  if (found.loading) return <Loading what="notifications" />;
  if (found.deliveries.length === 0) return <Empty title="No notifications" />;
  return (
    <>
      <DeliveryTable
        deliveries={found.deliveries}
        sending={send.isPending ? send.variables.deliveryId : undefined}
        onSend={({ runId, id }) => send.mutate({ runId, deliveryId: id })}
      />
      {found.more && <Button onClick={found.more}>More</Button>}
    </>
  );
}
