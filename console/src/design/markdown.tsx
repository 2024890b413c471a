import { lexer, type Token, type Tokens } from "marked";
import { Fragment, type ReactNode } from "react";
import { t } from "@/texts/texts";
import css from "./markdown.module.css";

/** Only these lead anywhere: a javascript: address would run in the console. */
const allowed = /^(?:https?:|mailto:)/i;

/**
 * Untrusted Markdown. It becomes elements of React and never HTML, so that nothing in it runs: HTML is shown as the text that it is,
 * images as links, since loading one would tell another host who reads this.
 */
export function Markdown({ text }: { readonly text: string }) {
  return <div className={css["markdown"]}>{blocks(parsed(text))}</div>;
}

function parsed(text: string): readonly Token[] {
  try {
    return lexer(text);
  } catch {
    return [{ type: "code", raw: text, text }]; // nested too deep
  }
}

const deepest = 20;

const blocks = (tokens: readonly Token[], depth = 0): ReactNode => tokens.map((token, at) => <Fragment key={at}>{block(token, depth)}</Fragment>);

function block(token: Token, depth: number): ReactNode {
  if (depth > deepest) return token.raw;
  switch (token.type) {
    case "heading": {
      const { depth: level, tokens } = token as Tokens.Heading;
      // The page has headings of its own: these come after them.
      const Heading = `h${Math.min(6, level + 3)}` as "h4" | "h5" | "h6";
      return <Heading data-level={level}>{inline(tokens, depth)}</Heading>;
    }
    case "paragraph":
      return <p>{inline((token as Tokens.Paragraph).tokens, depth)}</p>;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inline(tokens, depth) : decoded(text);
    }
    case "code":
      return (
        <pre>
          <code>{(token as Tokens.Code).text}</code>
        </pre>
      );
    case "blockquote":
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens, depth + 1)}</blockquote>;
    case "list":
      return list(token as Tokens.List, depth);
    case "table":
      return table(token as Tokens.Table, depth);
    case "hr":
      return <hr />;
    case "space":
    case "def":
      return null;
    default:
      return <p>{token.raw}</p>; // HTML, too
  }
}

function list({ ordered, start, items }: Tokens.List, depth: number): ReactNode {
  const children = items.map((item, at) => (
    <li key={at}>
      {item.task && <input type="checkbox" checked={item.checked === true} readOnly disabled aria-label={item.checked ? t("Done") : t("To do")} />}
      {blocks(item.tokens.filter(({ type }) => type !== "checkbox"), depth + 1)}
    </li>
  ));
  return ordered ? <ol start={typeof start === "number" ? start : 1}>{children}</ol> : <ul>{children}</ul>;
}

function table({ header, rows }: Tokens.Table, depth: number): ReactNode {
  return (
    // eslint-disable-next-line no-restricted-syntax -- the text of a person, not a list of the console
    <table>
      <thead>
        <tr>
          {header.map((cell, at) => (
            <th key={at} scope="col">
              {inline(cell.tokens, depth)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            {row.map((cell, column) => (
              <td key={column}>{inline(cell.tokens, depth)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const inline = (tokens: readonly Token[], depth: number): ReactNode => tokens.map((token, at) => <Fragment key={at}>{span(token, depth + 1)}</Fragment>);

function span(token: Token, depth: number): ReactNode {
  if (depth > deepest) return token.raw;
  switch (token.type) {
    case "strong":
      return <strong>{inline((token as Tokens.Strong).tokens, depth)}</strong>;
    case "em":
      return <em>{inline((token as Tokens.Em).tokens, depth)}</em>;
    case "del":
      return <del>{inline((token as Tokens.Del).tokens, depth)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link": {
      const { href, tokens } = token as Tokens.Link;
      return linked(href, inline(tokens, depth));
    }
    case "image": {
      const { href, text } = token as Tokens.Image;
      return linked(href, t("Image: {text}", { text: text || href.slice(0, 100) }));
    }
    case "escape":
      return (token as Tokens.Escape).text;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inline(tokens, depth) : decoded(text);
    }
    default:
      return token.raw;
  }
}

const entities: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
  ["nbsp", "\u00a0"],
]);

/** The library leaves the references of HTML in texts, for it makes HTML of them. */
const decoded = (text: string): string =>
  text.replace(/&(?:#(\d{1,6})|(\w{2,4}));/g, (whole, number: string | undefined, name: string | undefined) =>
    number === undefined ? (entities.get(name ?? "") ?? whole) : String.fromCodePoint(Number(number)),
  );

const linked = (href: string, words: ReactNode): ReactNode =>
  allowed.test(href) ? (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {words}
    </a>
  ) : (
    words
  );
