import { t } from "@/texts/texts";

// Without vowels and ambiguous characters, so that no words appear.
const letters = "bcdfghjklmnpqrstvwxz2456789";

/** A unique name for a run, in the format of the server. */
export function newRunName(): string {
  let name = "r";
  while (name.length < 20) {
    for (const byte of crypto.getRandomValues(new Uint8Array(32))) {
      // Skip bytes beyond the last multiple, which would favour the first letters.
      if (byte < 256 - (256 % letters.length) && name.length < 20) name += letters[byte % letters.length] ?? "";
    }
  }
  return name;
}

/** The error of a run name; empty if it is valid. */
export function wrongRunName(name: string): string {
  if (name.length > 30) return t("Use at most 30 characters.");
  if (!/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name)) return t("Use lower case letters, digits and dashes. Start with a letter, and do not end with a dash.");
  return "";
}
