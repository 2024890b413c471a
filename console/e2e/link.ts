import { setTimeout as pause } from "node:timers/promises";

const service = "flytebinary.clusters.v1";

/** What the nodes of a cluster have, as controllers report it. */
export interface Nodes {
  readonly capacity: Readonly<Record<string, number>>;
  readonly free: Readonly<Record<string, number>>;
  readonly largest: Readonly<Record<string, number>>;
}

/** A call of a service, in JSON. */
export async function call(url: string, procedure: string, body: unknown, secret?: string): Promise<Readonly<Record<string, unknown>>> {
  const answer = await fetch(`${url}/${procedure}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...(secret !== undefined && { Authorization: `Bearer ${secret}` }) },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${procedure}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Readonly<Record<string, unknown>>;
}

/**
 * The link of a controller that runs nothing: its cluster connects to a real server, reports its nodes and says that it is there. So a
 * test has a second cluster with any hardware. What is placed there waits.
 */
export class Link {
  private readonly over = new AbortController();

  private constructor(private readonly url: string, private readonly cluster: string, private readonly secret: string) {}

  /** Adds a cluster and connects to it. */
  static async open(url: string, cluster: string, nodes: Nodes, more: Readonly<Record<string, unknown>> = {}): Promise<Link> {
    const { secret } = await call(url, `${service}.ClusterRegistryService/AddCluster`, { name: cluster });
    const link = new Link(url, cluster, String(secret));
    await link.connect({ cluster, instance: `${cluster}-1`, nodes: { known: true, ...nodes }, ...more });
    return link;
  }

  private async connect(hello: Readonly<Record<string, unknown>>): Promise<void> {
    const body = Buffer.from(JSON.stringify(hello));
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(body.length, 1);
    const answer = await fetch(`${this.url}/${service}.ClusterLinkService/Connect`, {
      method: "POST",
      headers: { "Content-Type": "application/connect+json", Authorization: `Bearer ${this.secret}` },
      body: Buffer.concat([prefix, body]),
      signal: this.over.signal,
    });
    if (!answer.ok || answer.body === null) throw new Error(`Connect: ${answer.status} ${await answer.text()}`);
    const reader = answer.body.getReader();
    let received = Buffer.alloc(0);
    while (received.length < 5 || received.length < 5 + received.readUInt32BE(1)) {
      const { done, value } = await reader.read();
      if (done) throw new Error(`Connect ended: ${received.toString()}`);
      received = Buffer.concat([received, value]);
    }
    const first = received.subarray(5, 5 + received.readUInt32BE(1)).toString();
    const { welcome } = JSON.parse(first) as { readonly welcome?: { readonly link: string } };
    if (welcome === undefined) throw new Error(`Connect: ${first}`);
    void this.beat(welcome.link);
    void this.read(reader);
  }

  private async read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    try {
      while (!(await reader.read()).done);
    } catch (error) {
      if (!this.over.signal.aborted) console.error(error);
    }
  }

  private async beat(link: string): Promise<void> {
    try {
      for (;;) {
        await pause(2000, undefined, { signal: this.over.signal });
        await call(this.url, `${service}.ClusterLinkService/Beat`, { cluster: this.cluster, instance: `${this.cluster}-1`, link }, this.secret);
      }
    } catch (error) {
      if (!this.over.signal.aborted) console.error(error);
    }
  }

  /** Says nothing more, as a cluster that lost its network. */
  close(): void {
    this.over.abort();
  }
}
