/** The first and last line, from 1, of the function defined on a line, with decorators and body, derived from indentation. */
export function functionRange(lines: readonly string[], line: number): readonly [first: number, last: number] {
  const defined = lines[line - 1];
  if (defined === undefined) return [line, line];
  const indent = indentOf(defined);
  let first = line;
  for (let at = line - 1; at > 0 && line - at <= maxDecoratorLines; at--) {
    const text = lines[at - 1] ?? "";
    if (text.trim() === "") break;
    if (indentOf(text) < indent) break;
    if (indentOf(text) === indent && text.trimStart().startsWith("@")) first = at;
  }
  let last = line;
  for (let at = line + 1; at <= lines.length; at++) {
    const text = lines[at - 1] ?? "";
    if (text.trim() === "") continue;
    if (indentOf(text) <= indent && !/^[)\]}]/.test(text.trimStart())) break;
    last = at;
  }
  return [first, last];
}

/** How many lines above the definition its decorators may start. */
const maxDecoratorLines = 60;

const indentOf = (text: string): number => text.length - text.trimStart().length;
