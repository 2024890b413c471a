import { createContext, use, useCallback, useMemo, useState, type ReactNode } from "react";
import { X } from "lucide-react";
import { IconButton } from "./button";
import { Notice, type Tone } from "./notice";
import css from "./parts.module.css";

interface Toast {
  readonly id: number;
  readonly tone: Tone;
  readonly title: string;
  readonly body: ReactNode;
}

/** Says something that asks for no answer; it goes by itself, errors stay until they are dismissed. */
export type Tell = (tone: Tone, title: string, body?: ReactNode) => void;

const Context = createContext<Tell>(() => undefined);

export const useTell = (): Tell => use(Context);

const shownFor = 6000;

export function Toasts({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const dismiss = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), []);
  const tell = useMemo<Tell>(() => {
    let last = 0;
    return (tone, title, body) => {
      const id = ++last;
      setToasts((all) => [...all.slice(-3), { id, tone, title, body }]);
      if (tone !== "danger") setTimeout(() => dismiss(id), shownFor);
    };
  }, [dismiss]);
  return (
    <Context value={tell}>
      {children}
      <div className={css["toasts"]} role="region" aria-label="Messages" aria-live="polite">
        {toasts.map((toast) => (
          <Notice
            key={toast.id}
            tone={toast.tone}
            title={
              <span style={{ display: "flex", justifyContent: "space-between", alignItems: "start" }}>
                {toast.title}
                <IconButton small label="Dismiss" onClick={() => dismiss(toast.id)}>
                  <X size={14} aria-hidden />
                </IconButton>
              </span>
            }
          >
            {toast.body}
          </Notice>
        ))}
      </div>
    </Context>
  );
}
