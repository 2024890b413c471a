import { useEffect, useRef, useState } from "react";
import { add, drawn, withoutFonts, parseMessage, type Framed, type Position } from "./frames";
import css from "./frame.module.css";

/** Reports may run scripts and open links, without an origin. Never allow-same-origin: reports are untrusted. */
export const allowed = "allow-scripts allow-popups";

const page = `${import.meta.env.BASE_URL}report-frame.html`;

/** After this time in milliseconds a version is shown even if it still loads. */
const maxLoading = 4000;

/** Shows a report. A new version is rendered behind the shown one and replaces it at the same scroll position, without flicker. */
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
    let sent = false;
    const receive = (event: MessageEvent) => {
      const target = frame.current?.contentWindow;
      if (!target || event.source !== target) return;
      const message = parseMessage(event.data);
      if (message?.kind === "ready" && !sent) {
        sent = true; // a page that the report navigates to gets nothing
        target.postMessage({ html: withoutFonts(html), ...latest.current.position.current }, "*"); // the frame has no origin
      } else if (message?.kind === "shown") latest.current.onDrawn();
      else if (message?.kind === "position") latest.current.onPosition(message.position);
    };
    addEventListener("message", receive);
    const timer = setTimeout(() => latest.current.onDrawn(), maxLoading);
    return () => {
      removeEventListener("message", receive);
      clearTimeout(timer);
    };
  }, [html]);
  return (
    <iframe
      ref={frame}
      src={page}
      title={title}
      sandbox={allowed}
      referrerPolicy="no-referrer"
      aria-hidden={behind || undefined}
      tabIndex={behind ? -1 : undefined}
      data-behind={behind || undefined}
    />
  );
}
