/** The severity of a line. */
export enum Level {
  None,
  Debug,
  Info,
  Warning,
  Error,
}

const words: Readonly<Record<string, Level>> = {
  trace: Level.Debug,
  debug: Level.Debug,
  info: Level.Info,
  notice: Level.Info,
  warn: Level.Warning,
  warning: Level.Warning,
  error: Level.Error,
  err: Level.Error,
  critical: Level.Error,
  fatal: Level.Error,
  panic: Level.Error,
};

const structured = /"(?:level|levelname|severity|lvl)"\s*:\s*"(\w+)"|\blevel=(\w+)/i;
const plain = /(?:^|[\s[(|:-])(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|PANIC)(?=$|[\s\])|:,-])/;
const glog = /^([IWEF])\d{4} \d\d:\d\d/;
const python = /^(?:.{0,4}\bTraceback \(most recent call last\)|[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit)(?::|$))|^[╭┌]─+ Traceback/;
/** Only the start of a line is searched for a level, in characters: further on it is part of the message. */
const head = 160;

const letters: Readonly<Record<string, Level>> = { I: Level.Info, W: Level.Warning, E: Level.Error, F: Level.Error };

/** The level of a line; None if it has none. */
export function levelOf(text: string): Level {
  const start = text.length > head ? text.slice(0, head) : text;
  const word = start.startsWith("{") || start.includes("level=") ? structured.exec(text.slice(0, 4096)) : null;
  const named = word?.[1] ?? word?.[2];
  if (named) return words[named.toLowerCase()] ?? Level.None;
  if (python.test(start)) return Level.Error;
  const letter = glog.exec(start)?.[1];
  if (letter) return letters[letter] ?? Level.None;
  const found = plain.exec(start)?.[1];
  return found ? (words[found.toLowerCase()] ?? Level.None) : Level.None;
}

/** Whether a line continues the previous one, like the lines of a traceback. */
export const continues = (text: string): boolean => /^[ \t│╰└|]/.test(text);
