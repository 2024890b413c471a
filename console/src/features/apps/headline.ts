/** The first line of a message, with the last one when the first announces it: that of a traceback is the exception. */
export function headline(text: string): string {
  const lines = text
    .trim()
    .split("\n")
    .map((line) => line.trim());
  const [first = ""] = lines;
  const last = lines.at(-1);
  return first.endsWith(":") && lines.length > 1 && last ? `${first} ${last}` : first;
}

/** Whether two messages say the same: a summary begins with a capital letter and ends with a dot. */
export function saysTheSame(one: string, other: string): boolean {
  const plain = (text: string) => text.trim().replace(/\.$/, "").toLowerCase();
  return plain(one) === plain(other);
}
