/** A value as a word of a query. */
export const quoted = (value: string): string => (/[\s()"]|^$/.test(value) ? `"${value.replaceAll(/["\\]/g, "\\$&")}"` : value);
