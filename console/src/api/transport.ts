import { createClient, type Client, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import type { DescService } from "@bufbuild/protobuf";

// Unit tests without a document have no location.
const origin = typeof location === "undefined" ? "http://localhost" : location.origin;

/** The API has the same origin as the console. */
export const transport: Transport = createConnectTransport({ baseUrl: origin, useHttpGet: false });

const clients = new Map<DescService, unknown>();

/** The client of a service, created once. */
export function client<T extends DescService>(service: T): Client<T> {
  let known = clients.get(service) as Client<T> | undefined;
  if (!known) {
    known = createClient(service, transport);
    clients.set(service, known);
  }
  return known;
}
