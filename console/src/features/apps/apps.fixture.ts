import { create, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  AppSchema,
  SpecSchema,
  Spec_DesiredState,
  Status_DeploymentStatus as Deployment,
  Status_Substate as Substate,
  type App,
  type Spec,
  type SpecSchema as SpecType,
} from "@gen/flyteidl2/app/app_definition_pb.js";
import { TailLogsResponseSchema, type LogLinesSchema, type TailLogsResponse } from "@gen/flyteidl2/app/app_logs_payload_pb.js";

/** The fields of a message, but not a message. */
export type Fields<S extends GenMessage<Message>> = Exclude<MessageInitShape<S>, Message>;

export const specOf = (more: Fields<typeof SpecType> = {}): Spec =>
  create(SpecSchema, {
    appPayload: {
      case: "container",
      value: {
        image: "registry.example/hello:1",
        args: ["python", "-m", "http.server", "8080"],
        env: [
          { key: "MODE", value: "fast" },
          { key: "API_TOKEN", value: "s3cr3t" },
        ],
        ports: [{ containerPort: 8080 }],
      },
    },
    autoscaling: { replicas: { min: 0, max: 3 } },
    desiredState: Spec_DesiredState.ACTIVE,
    creator: { principal: { case: "user", value: { id: { subject: "ada" }, spec: { firstName: "Ada" } } } },
    ...more,
  });

export interface AppFields {
  readonly status?: Deployment;
  readonly substate?: Substate;
  readonly message?: string;
  readonly minute?: number;
  readonly revision?: bigint;
  readonly publicUrl?: string;
  readonly spec?: Fields<typeof SpecType>;
}

/** An app as the server sends it; minute is when it was created. */
export const appOf = (name: string, more: AppFields = {}): App =>
  create(AppSchema, {
    metadata: { id: { org: "flyte", project: "p", domain: "d", name }, revision: more.revision ?? 1n },
    spec: specOf(more.spec),
    status: {
      currentReplicas: 1,
      createdAt: timestampFromMs((more.minute ?? 0) * 60_000),
      lastUpdatedAt: timestampFromMs((more.minute ?? 0) * 60_000),
      ingress: { publicUrl: more.publicUrl ?? `http://localhost:8088/apps/p/d/${name}` },
      conditions: [
        { deploymentStatus: Deployment.PENDING },
        { deploymentStatus: more.status ?? Deployment.ACTIVE, substate: more.substate ?? Substate.RUNNING, message: more.message ?? "" },
      ],
    },
  });

/** A message of logs with the lines of one replica. */
export const batchOf = (lines: Fields<typeof LogLinesSchema>): TailLogsResponse =>
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- the other case of the oneof is, which makes the linter take all for deprecated
  create(TailLogsResponseSchema, { resp: { case: "batches", value: { logs: [lines] } } });

/** The first message of logs: which replicas there are. */
export const replicasOf = (...names: string[]): TailLogsResponse =>
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- as above
  create(TailLogsResponseSchema, { resp: { case: "replicas", value: { replicas: names.map((name) => ({ name })) } } });
