import ts from "typescript";

/** A text that goes through the catalogue. */
export interface Text {
  readonly key: string;
  /** The text of one thing, if it counts. */
  readonly one?: string;
  readonly at: string;
}

/** What a source file says to people. */
export interface Collected {
  readonly texts: readonly Text[];
  /** Literals that look like texts and do not go through the catalogue, and calls of it that cannot be collected. */
  readonly strays: readonly { readonly at: string; readonly text: string; readonly node: ts.Node }[];
}

/** Attributes and properties whose values are for programs, whatever they look like. */
const forPrograms =
  /^(?:className|contentClassName|style|css|to|from|params|search|href|src|rel|target|id|key|role|type|htmlFor|kind|tone|look|side|align|as|mask|d|viewBox|points|transform|fill|stroke\w*|color|colour|font\w*|width|height|flex\w*|grid\w*|gap|border\w*|transition|background|boxShadow|display|overflow|position|autoComplete|inputMode|spellCheck|accept|allow|sandbox|sizes|path|command|query|doc|url|uri|aria-(?:live|haspopup|current|controls|labelledby|describedby)|data-.*)$/;

/** Attributes whose values are for people, whatever they look like. */
const forPeople = /^(?:what|word|everything|label|title|hint|placeholder|description|alt|aria-label|aria-description|aria-roledescription|aria-valuetext)$/;

/** Functions whose arguments are for programs. */
const callsForPrograms =
  /^(?:Error|TypeError|RangeError|RegExp|URL|Blob|Worker|require|import|querySelector(?:All)?|closest|matches|matchMedia|getElementById|createElement|getPropertyValue|setProperty|setAttribute|getAttribute|addEventListener|removeEventListener|startsWith|endsWith|includes|indexOf|lastIndexOf|split|replace|replaceAll|match|test|get|set|has|append|hasOwn|getItem|setItem|removeItem|debug|warn|error|info|log|assert|fetch|supports|read|write|measureText|chunk)$/;

const isComparison = (node: ts.Node): boolean =>
  ts.isBinaryExpression(node) &&
  [
    ts.SyntaxKind.EqualsEqualsEqualsToken,
    ts.SyntaxKind.ExclamationEqualsEqualsToken,
    ts.SyntaxKind.InKeyword,
    ts.SyntaxKind.EqualsEqualsToken,
    ts.SyntaxKind.ExclamationEqualsToken,
  ].includes(node.operatorToken.kind);

const nameOf = (node: ts.Node): string =>
  ts.isIdentifier(node) || ts.isStringLiteral(node) ? node.text : ts.isPropertyAccessExpression(node) ? node.name.text : ts.isJsxNamespacedName(node) ? node.getText() : "";

/** Files that write programs, whose comments stay English like the programs. */
const programs = /^(?:entities\/action\/copy-as|entities\/project\/first-commands|entities\/value\/type-words|entities\/value\/write-python|features\/launch\/copy)\.ts$/;

/** Command lines, lengths of styles and filters of the query language are written alike in all languages. */
const isCode = (text: string): boolean => /^(?:flyte|kubectl|docker|curl|python|uv|pip|helm) |\{\}(?:r?em|px|fr|%)(?![\p{L}\d])|\d(?:r?em|px|fr)\b|^\w+[:=]\{\} |^--?\w|^g \w$|^\{\} (?:ms|[smhd]|[a-zA-Z]+-h)$|^allow-|\[[a-z]+\]|\w=flyte|= flyte\./u.test(text);

/** Whether words are for people: a capitalised word, or words with spaces between them. */
const isProse = (text: string): boolean => !isCode(text) && (/^\p{Lu}\p{Ll}+(?!\p{L})(?![-_.:/\w])/u.test(text.trim()) || /\p{Ll}[,.:;!?…]* +[\p{L}{(…–]|[\p{L}}),] +\p{Ll}/u.test(text));

/** The words of a literal, with {} for what a template puts in. */
export const wordsOf = (node: ts.Node): string =>
  ts.isTemplateExpression(node)
    ? node.head.text + node.templateSpans.map(({ literal }) => `{}${literal.text}`).join("")
    : ts.isStringLiteralLike(node) || ts.isJsxText(node)
      ? node.text
      : "";

/** Whether a literal is a child of an element or the value of an attribute for people, or a branch of one: people see it, whatever it is. */
function isShown(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isJsxAttribute(parent)) return forPeople.test(parent.name.getText());
  if (ts.isJsxExpression(parent)) return !isCodeElement(parent.parent) && (!ts.isJsxAttribute(parent.parent) || isShown(parent));
  if (ts.isConditionalExpression(parent)) return parent.condition !== node && isShown(parent);
  if (ts.isParenthesizedExpression(parent)) return isShown(parent);
  return ts.isBinaryExpression(parent) && !isComparison(parent) && parent.right === node && isShown(parent);
}

/** Whether a literal stands where only programs read it. */
function isForPrograms(node: ts.Node): boolean {
  for (let at: ts.Node = node; ; at = at.parent) {
    const { parent } = at;
    if (
      ts.isImportDeclaration(parent) ||
      ts.isExportDeclaration(parent) ||
      ts.isLiteralTypeNode(parent) ||
      ts.isTypeNode(parent) ||
      ts.isEnumMember(parent) ||
      (ts.isCaseClause(parent) && parent.expression === at) ||
      ts.isTaggedTemplateExpression(parent) ||
      (ts.isExpressionStatement(parent) && at === node) ||
      isComparison(parent) ||
      (ts.isElementAccessExpression(parent) && parent.argumentExpression === at) ||
      ((ts.isPropertyAssignment(parent) || ts.isPropertySignature(parent)) && (parent.name === at || forPrograms.test(nameOf(parent.name)))) ||
      (ts.isJsxAttribute(parent) && forPrograms.test(parent.name.getText())) ||
      ((ts.isCallExpression(parent) || ts.isNewExpression(parent)) && parent.expression !== at && callsForPrograms.test(nameOf(parent.expression)))
    )
      return true;
    // What is inside an element, a function or a call of its own is judged there.
    if (
      ts.isJsxElement(parent) ||
      ts.isJsxFragment(parent) ||
      ts.isFunctionLike(parent) ||
      ts.isCallExpression(parent) ||
      ts.isSourceFile(parent) ||
      ts.isStatement(parent) ||
      ts.isCaseOrDefaultClause(parent)
    )
      return false;
  }
}

const isCodeElement = (node: ts.Node): boolean => ts.isJsxElement(node) && /^(?:code|kbd)$/.test(node.openingElement.tagName.getText());

const isPlain = (node: ts.Node | undefined): node is ts.StringLiteralLike => node !== undefined && ts.isStringLiteralLike(node);

/** Collects the texts of a file. */
export function collect(file: string, source: string): Collected {
  const texts: Text[] = [];
  const strays: { at: string; text: string; node: ts.Node }[] = [];
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true, file.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS);
  const at = (node: ts.Node) => `${file}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
  const stray = (node: ts.Node, text: string) => strays.push({ at: at(node), text: text.trim().replace(/\s+/g, " "), node });
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && (node.expression.text === "t" || node.expression.text === "tn")) {
      const counts = node.expression.text === "tn";
      const [first, second, third] = node.arguments;
      if (counts ? isPlain(second) && isPlain(third) : isPlain(first)) {
        if (counts) texts.push({ key: (third as ts.StringLiteralLike).text, one: (second as ts.StringLiteralLike).text, at: at(node) });
        else texts.push({ key: (first as ts.StringLiteralLike).text, at: at(node) });
        node.arguments.forEach((argument) => {
          if (!isPlain(argument)) visit(argument);
        });
      } else stray(node, `not a literal: ${node.getText()}`);
      return;
    }
    if (ts.isJsxText(node)) {
      if (/\p{L}/u.test(node.text) && !isCodeElement(node.parent)) stray(node, node.text);
    } else if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) {
      const words = wordsOf(node);
      if (!programs.test(file) && (isProse(words) || (isShown(node) && /\p{L}/u.test(words) && !isCode(words))) && !isForPrograms(node)) stray(node, words);
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return { texts, strays };
}

/** The names of the placeholders of a text, in order. */
export const placeholders = (text: string): readonly string[] => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "").sort();
