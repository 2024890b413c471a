import { X } from "lucide-react";
import { Toast as Radix } from "radix-ui";
import { createContext, use, useCallback, useMemo, useState, type ReactNode } from "react";
import { t } from "@/texts/texts";
import { IconButton } from "./button";
import { Notice, type Tone } from "./notice";
import css from "./parts.module.css";

interface Toast {
  readonly id: number;
  readonly tone: Tone;
  readonly title: string;
  readonly body: ReactNode;
}

/** Shows a message that needs no answer. It closes by itself, unless it is hovered or focused; errors stay until they are dismissed. */
export type Notify = (tone: Tone, title: string, body?: ReactNode) => void;

const Context = createContext<Notify>(() => undefined);

export const useNotify = (): Notify => use(Context);

/** How long a message is shown, in milliseconds. */
const duration = 6000;
const maxToasts = 4;

export function Toasts({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const dismiss = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), []);
  const notify = useMemo<Notify>(() => {
    let last = 0;
    return (tone, title, body) => {
      const id = ++last;
      setToasts((all) => [...all.slice(1 - maxToasts), { id, tone, title, body }]);
    };
  }, []);
  return (
    <Context value={notify}>
      <Radix.Provider duration={duration} label={t("Message")}>
        {children}
        {toasts.map((toast) => (
          <Message key={toast.id} toast={toast} onDismiss={() => dismiss(toast.id)} />
        ))}
        <Radix.Viewport className={css["toasts"]} label={t("Messages ({hotkey})")} />
      </Radix.Provider>
    </Context>
  );
}

function Message({ toast: { tone, title, body }, onDismiss }: { readonly toast: Toast; readonly onDismiss: () => void }) {
  const isError = tone === "danger";
  return (
    <Radix.Root
      type={isError ? "foreground" : "background"}
      {...(isError && { duration: Infinity })}
      onOpenChange={(open) => {
        if (!open) onDismiss();
      }}
    >
      <Notice
        tone={tone}
        title={
          <span className={css["toast-title"]}>
            <Radix.Title asChild>
              <span>{title}</span>
            </Radix.Title>
            <Radix.Close asChild>
              <IconButton small label={t("Dismiss")}>
                <X size={14} aria-hidden />
              </IconButton>
            </Radix.Close>
          </span>
        }
      >
        {body !== undefined && body !== "" && (
          <Radix.Description asChild>
            <div>{body}</div>
          </Radix.Description>
        )}
      </Notice>
    </Radix.Root>
  );
}
