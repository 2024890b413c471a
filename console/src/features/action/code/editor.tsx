import { json } from "@codemirror/lang-json";
import { python } from "@codemirror/lang-python";
import { HighlightStyle, syntaxHighlighting, type LanguageSupport } from "@codemirror/language";
import { EditorState, RangeSetBuilder, type Extension } from "@codemirror/state";
import { Decoration, EditorView, lineNumbers, type DecorationSet } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { functionRange } from "./function-range";

export interface EditorProps {
  /** Determines the language. */
  readonly path: string;
  readonly text: string;
  /** The line, from 1, of the function to highlight; 0 for none. */
  readonly line: number;
  /** Scrolls to the highlighted lines whenever it changes. */
  readonly reveals: number;
}

/** A read-only text with syntax highlighting. Only visible lines are rendered. */
export function Editor({ path, text, line, reveals }: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  useEffect(() => {
    if (!place.current) return;
    const created = new EditorView({ parent: place.current, state: EditorState.create({ doc: text, extensions: extensions(path, text, line) }) });
    view.current = created;
    return () => created.destroy();
  }, [path, text, line]);
  useEffect(() => {
    const { current } = view;
    if (!current || line < 1 || line > current.state.doc.lines) return;
    const [first] = functionRange(text.split("\n"), line);
    const { from } = current.state.doc.line(first);
    // The library's own scrolling would also scroll the page around the editor.
    current.requestMeasure({
      read: () => current.lineBlockAt(from).top,
      write: (top) => {
        current.scrollDOM.scrollTop = top - margin;
      },
    });
  }, [path, text, line, reveals]);
  return <div ref={place} data-testid="code" />;
}

/** The visible space above the highlighted lines, in pixels. */
const margin = 28;

function extensions(path: string, text: string, line: number): Extension {
  return [
    lineNumbers(),
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.contentAttributes.of({ tabindex: "0", "aria-label": path, "aria-readonly": "true" }),
    EditorView.decorations.of(marked(text, line)),
    languageOf(path) ?? [],
    syntaxHighlighting(colours),
    theme,
  ];
}

function languageOf(path: string): LanguageSupport | undefined {
  if (/\.pyi?$/.test(path)) return python();
  if (/\.(json|ipynb)$/.test(path)) return json();
  return undefined;
}

function marked(text: string, line: number): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const doc = EditorState.create({ doc: text }).doc;
  if (line < 1 || line > doc.lines) return Decoration.none;
  const [first, last] = functionRange(text.split("\n"), line);
  for (let at = first; at <= Math.min(last, doc.lines); at++) {
    const from = doc.line(at).from;
    builder.add(from, from, Decoration.line({ class: "cm-entry", attributes: at === line ? { "data-line": String(at) } : {} }));
  }
  return builder.finish();
}

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier, tags.controlKeyword], color: "var(--ansi-magenta)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--ansi-green)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--ansi-blue)" },
  { tag: [tags.comment], color: "var(--text-3)", fontStyle: "italic" },
  { tag: [tags.definition(tags.variableName), tags.definition(tags.function(tags.variableName)), tags.className], color: "var(--accent)" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: "var(--ansi-cyan)" },
  { tag: [tags.meta, tags.annotation], color: "var(--ansi-yellow)" },
  { tag: [tags.propertyName], color: "var(--text)" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--ground)", fontSize: "var(--size-2)" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { padding: "var(--space-2) 0", caretColor: "transparent" },
  ".cm-content:focus-visible": { outline: "none" },
  ".cm-gutters": { backgroundColor: "var(--ground-2)", color: "var(--text-3)", borderRight: "1px solid var(--line)" },
  ".cm-line": { padding: "0 var(--space-3)" },
  ".cm-entry": { backgroundColor: "var(--accent-ground)", boxShadow: "inset 2px 0 var(--accent)" },
});
