/** The name of a trigger in requests. */
export interface TriggerId {
  readonly org: string;
  readonly project: string;
  readonly domain: string;
  readonly taskName: string;
  readonly name: string;
}
