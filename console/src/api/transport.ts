import { createClient, type Client, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import type { DescService } from "@bufbuild/protobuf";
import { session } from "./session";
import { decodeFast } from "./text-encoding";

// Unit tests without a document have no location.
const origin = typeof location === "undefined" ? "http://localhost" : location.origin;

/** The API has the same origin as the console. */
export const transport: Transport = createConnectTransport({ baseUrl: origin, useHttpGet: false, interceptors: [session] });

decodeFast();

/** The same with binary messages, which browsers read several times faster than JSON: for long logs and large runs. */
const binaryTransport: Transport = createConnectTransport({ baseUrl: origin, useBinaryFormat: true, interceptors: [session] });

const clients = new Map<DescService, unknown>();
const binaryClients = new Map<DescService, unknown>();

/** The client of a service, created once. */
export const client = <T extends DescService>(service: T): Client<T> => clientOf(clients, transport, service);

/** The client of a service with large messages, created once. */
export const binaryClient = <T extends DescService>(service: T): Client<T> => clientOf(binaryClients, binaryTransport, service);

function clientOf<T extends DescService>(known: Map<DescService, unknown>, over: Transport, service: T): Client<T> {
  let found = known.get(service) as Client<T> | undefined;
  if (!found) {
    found = createClient(service, over);
    known.set(service, found);
  }
  return found;
}
