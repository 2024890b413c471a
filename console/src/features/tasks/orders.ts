import { TaskHealthOrder } from "@gen/flytebinary/insight/v1/health_pb.js";

/** What the server calls the orders of the address. */
export const serverOrders: Readonly<Record<string, TaskHealthOrder>> = {
  last: TaskHealthOrder.UNSPECIFIED,
  name: TaskHealthOrder.NAME,
  p50: TaskHealthOrder.P50,
  p90: TaskHealthOrder.P90,
  slower: TaskHealthOrder.CHANGE_P50,
  "slower-p90": TaskHealthOrder.CHANGE_P90,
  failures: TaskHealthOrder.FAILURE_RATE,
  hits: TaskHealthOrder.HIT_RATE,
  cost: TaskHealthOrder.COST,
};
