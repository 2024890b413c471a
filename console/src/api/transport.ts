import { createClient, type Client, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import type { DescService } from "@bufbuild/protobuf";

/** The API is on the console's own origin. */
export const transport: Transport = createConnectTransport({ baseUrl: globalThis.location.origin, useHttpGet: false });

const clients = new Map<DescService, unknown>();

/** The client of a service, made once. */
export function client<T extends DescService>(service: T): Client<T> {
  let known = clients.get(service) as Client<T> | undefined;
  if (!known) {
    known = createClient(service, transport);
    clients.set(service, known);
  }
  return known;
}
