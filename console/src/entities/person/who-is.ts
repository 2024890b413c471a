import type { EnrichedIdentity } from "@gen/flyteidl2/common/identity_pb.js";

/** The most readable name of a user or application; empty if unknown. */
export function whoIs(identity: EnrichedIdentity | undefined): string {
  const principal = identity?.principal;
  switch (principal?.case) {
    case "user": {
      const spec = principal.value.spec;
      const full = `${spec?.firstName ?? ""} ${spec?.lastName ?? ""}`.trim();
      return full || spec?.email || spec?.userHandle || principal.value.id?.subject || "";
    }
    case "application":
      return principal.value.spec?.name || principal.value.id?.subject || "";
    default:
      return "";
  }
}
