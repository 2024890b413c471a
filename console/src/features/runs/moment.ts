/** The text of a datetime-local control for a moment, in a time zone; empty for none. */
export function localText(at: Date | undefined, zone: string | undefined): string {
  if (!at || Number.isNaN(at.getTime())) return "";
  return wall(at.getTime(), zone);
}

/** The moment that the text of a datetime-local control means in a time zone. */
export function momentOf(text: string, zone: string | undefined): Date | undefined {
  const asked = Date.parse(`${text}Z`);
  if (Number.isNaN(asked)) return undefined;
  // The offset is that of the moment itself; two steps find it on either side of a change of the clocks.
  let at = asked;
  for (let step = 0; step < 2; step++) at = asked - (Date.parse(`${wall(at, zone)}Z`) - at);
  return new Date(at);
}

const wall = (ms: number, zone: string | undefined): string =>
  new Intl.DateTimeFormat("sv-SE", { timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" }).format(ms).replace(" ", "T");
