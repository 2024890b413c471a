import type { Ingress, Link } from "@gen/flyteidl2/app/app_definition_pb.js";

/** A web address, or undefined: other schemes could run code in the console. */
export function webAddress(text: string): string | undefined {
  try {
    const { protocol } = new URL(text);
    return protocol === "http:" || protocol === "https:" ? text : undefined;
  } catch {
    return undefined;
  }
}

/** Where an app is opened: at its own host if it has one, because pages with absolute paths need that. */
export function addressOf(ingress: Ingress | undefined, hostUrl = ""): string | undefined {
  return [hostUrl, ingress?.cnameUrl ?? "", ingress?.publicUrl ?? ""].map(webAddress).find((address) => address !== undefined);
}

/** The address of a link of an app; undefined if it leads nowhere. */
export function linkAddress({ path, isRelative }: Pick<Link, "path" | "isRelative">, address: string | undefined): string | undefined {
  if (!isRelative) return webAddress(path);
  if (address === undefined) return undefined;
  // The app may be below a path, which an absolute path would drop.
  return webAddress(`${address.replace(/\/$/, "")}/${path.replace(/^\//, "")}`);
}
