import { read, write } from "./storage";

/** A domain of a project. */
export interface Place {
  readonly project: string;
  readonly domain: string;
}

const isPlace = (value: unknown): value is Place =>
  typeof value === "object" && value !== null && typeof (value as Place).project === "string" && typeof (value as Place).domain === "string";

/** The place that was visited last. */
export const lastPlace = (): Place | undefined => read("place", isPlace);
export const rememberPlace = ({ project, domain }: Place): void => write("place", { project, domain });
