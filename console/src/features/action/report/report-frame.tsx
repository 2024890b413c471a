import { useEffect, useRef, useState } from "react";
import { add, drawn, withoutFonts, wordOf, type Framed, type Position } from "./frames";
import css from "./report.module.css";

/** What reports may do: run scripts and open links, as pages of no origin. Never allow-same-origin: they are strangers' pages. */
export const allowed = "allow-scripts allow-popups";

const page = `${import.meta.env.BASE_URL}report-frame.html`;

/** After so many milliseconds a version is shown although it still loads something. */
const patience = 4000;

/** Shows a report. The next version is drawn behind the shown one and takes its place at the same position, so that nothing flickers or jumps. */
export function ReportFrame({ html, title }: { readonly html: string; readonly title: string }) {
  const [frames, setFrames] = useState<readonly Framed[]>(() => add([], html));
  const position = useRef<Position>({ x: 0, y: 0, tab: -1 });
  useEffect(() => setFrames((known) => add(known, html)), [html]);
  return (
    <div className={css["frames"]}>
      {frames.map((frame, index) => (
        <Frame
          key={frame.id}
          html={frame.html}
          title={title}
          behind={index > 0}
          position={position}
          onPosition={(next) => {
            if (index === 0) position.current = next;
          }}
          onDrawn={() => setFrames((known) => drawn(known, frame.id))}
        />
      ))}
    </div>
  );
}

interface FrameProps {
  readonly html: string;
  readonly title: string;
  readonly behind: boolean;
  readonly position: { readonly current: Position };
  readonly onPosition: (position: Position) => void;
  readonly onDrawn: () => void;
}

function Frame({ html, title, behind, ...rest }: FrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const latest = useRef(rest);
  useEffect(() => {
    latest.current = rest;
  });
  useEffect(() => {
    let given = false;
    const hear = (event: MessageEvent) => {
      const target = frame.current?.contentWindow;
      if (!target || event.source !== target) return;
      const word = wordOf(event.data);
      if (word?.kind === "ready" && !given) {
        given = true; // a page that the report leads to gets nothing
        target.postMessage({ html: withoutFonts(html), ...latest.current.position.current }, "*"); // it has no origin to name
      } else if (word?.kind === "shown") latest.current.onDrawn();
      else if (word?.kind === "position") latest.current.onPosition(word.position);
    };
    addEventListener("message", hear);
    const timer = setTimeout(() => latest.current.onDrawn(), patience);
    return () => {
      removeEventListener("message", hear);
      clearTimeout(timer);
    };
  }, [html]);
  return <iframe ref={frame} src={page} title={title} sandbox={allowed} referrerPolicy="no-referrer" aria-hidden={behind || undefined} tabIndex={behind ? -1 : undefined} data-behind={behind || undefined} />;
}
