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

/** The messages that a server sends over a link, as far as a double acts on them. */
interface Message {
  readonly welcome?: { readonly link: string };
  readonly tail?: { readonly tail: string };
}

/**
 * The link of a controller that runs nothing: its cluster connects to a real server, reports its nodes and says that it is there. So a
 * test has a second cluster with any hardware. What is placed there waits, unless the test reports that it runs; its log has the lines of
 * the test then.
 */
export class Link {
  private readonly over = new AbortController();
  private readonly tails = new Set<string>();
  private log: readonly string[] = [];

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
    const messages = envelopes(answer.body.getReader());
    const first = await messages.next();
    const welcome = first.done === true ? undefined : first.value.welcome;
    if (welcome === undefined) throw new Error(`Connect: ${JSON.stringify(first.value)}`);
    void this.beat(welcome.link);
    void this.obey(messages);
  }

  private async obey(messages: AsyncIterable<Message>): Promise<void> {
    try {
      for await (const { tail } of messages) {
        if (tail === undefined || this.tails.has(tail.tail)) continue; // an order may come twice
        this.tails.add(tail.tail);
        void this.send(tail.tail);
      }
    } catch (error) {
      if (!this.over.signal.aborted) console.error(error);
    }
  }

  /** Sends the lines of the log, and then signs of life. */
  private async send(tail: string): Promise<void> {
    try {
      for (let sequence = 0; ; sequence += 1) {
        const lines = sequence === 0 ? this.log.map((message) => ({ timestamp: new Date().toISOString(), message })) : [];
        const { stop } = await call(this.url, `${service}.ClusterLinkService/SendLog`, { cluster: this.cluster, tail, sequence, lines }, this.secret);
        if (stop === true) return;
        await pause(2000, undefined, { signal: this.over.signal });
      }
    } catch (error) {
      if (!this.over.signal.aborted) console.error(error);
    }
  }

  /** Reports that the first attempt of an action runs, in a pod whose log has these lines. */
  async runs(run: { readonly project: string; readonly domain: string; readonly name: string }, name: string, log: readonly string[]): Promise<void> {
    this.log = log;
    const now = new Date().toISOString();
    const pod = {
      namespace: "storm",
      podName: `${run.name}-${name}-0`,
      primaryContainerName: "main",
      containers: [{ containerName: "main", process: { containerStartTime: now } }],
    };
    const event = {
      id: { run, name },
      attempt: 1,
      phase: "ACTION_PHASE_RUNNING",
      updatedTime: now,
      reportedTime: now,
      cluster: this.cluster,
      logContext: { primaryPodName: pod.podName, pods: [pod] },
    };
    await call(this.url, "flytebinary.engine.v1.EngineService/RecordTransitions", { transitions: [{ event }] }, this.secret);
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

/** The messages of a stream of Connect in JSON. */
async function* envelopes(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<Message> {
  let received = Buffer.alloc(0);
  for (;;) {
    while (received.length < 5 || received.length < 5 + received.readUInt32BE(1)) {
      const { done, value } = await reader.read();
      if (done) return;
      received = Buffer.concat([received, value]);
    }
    const end = 5 + received.readUInt32BE(1);
    const body = received.subarray(5, end).toString();
    const last = (received.readUInt8(0) & 2) !== 0;
    received = received.subarray(end);
    if (last) throw new Error(`the stream ended: ${body}`);
    yield JSON.parse(body) as Message;
  }
}
