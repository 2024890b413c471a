// Without vowels and what is mistaken for something else, so that no name says anything.
const letters = "bcdfghjklmnpqrstvwxz2456789";

/** A name for a run that no other has, in the form of the server's own. */
export function newRunName(): string {
  let name = "r";
  while (name.length < 20) {
    for (const byte of crypto.getRandomValues(new Uint8Array(32))) {
      // Bytes beyond the last whole multiple would make the first letters more likely.
      if (byte < 256 - (256 % letters.length) && name.length < 20) name += letters[byte % letters.length] ?? "";
    }
  }
  return name;
}

/** What is wrong with a name that a person chose; empty when nothing is. */
export function wrongRunName(name: string): string {
  if (name.length > 30) return "A name has at most 30 characters.";
  if (!/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name)) return "A name has lower case letters, digits and dashes, begins with a letter and does not end with a dash.";
  return "";
}
