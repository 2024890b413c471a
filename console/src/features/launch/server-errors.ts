import { Code, ConnectError } from "@connectrpc/connect";
import type { Input } from "./form/inputs";

/** Parses the errors of inputs by path from a server error, which names values.x[2].y and then the reason. */
export function fieldErrors(error: unknown, inputs: readonly Input[]): ReadonlyMap<string, string> {
  const { code, rawMessage } = ConnectError.from(error);
  const found = new Map<string, string>();
  if (code !== Code.InvalidArgument && code !== Code.Unimplemented) return found;
  const [, path, reason] = /\b(?:values|inputs)\.([^\s:]+): (.+)$/.exec(rawMessage) ?? [];
  if (path !== undefined && reason !== undefined && inputs.some(({ name }) => path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`))) {
    found.set(path, `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`);
  }
  return found;
}
