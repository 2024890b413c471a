import { useId, type ComponentProps, type ReactNode } from "react";
import css from "./parts.module.css";

export interface FieldProps {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  /** The error of the value; empty if it is valid. */
  readonly error?: string | undefined;
  /** Renders the control with these attributes. */
  readonly children: (control: { id: string; "aria-invalid": boolean; "aria-describedby": string | undefined }) => ReactNode;
}

/** A control with its label, hint and error. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const describedBy = [hint !== undefined && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className={css["field"]}>
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-invalid": Boolean(error), "aria-describedby": describedBy || undefined })}
      {hint !== undefined && (
        <span id={`${id}-hint`} className={css["hint"]}>
          {hint}
        </span>
      )}
      {error && (
        <span id={`${id}-error`} className={css["wrong"]} role="alert">
          {error}
        </span>
      )}
    </div>
  );
}

export function Input({ className = "", ...rest }: ComponentProps<"input">) {
  return <input className={`${css["input"] ?? ""} ${className}`} {...rest} />;
}

export function Select({ className = "", ...rest }: ComponentProps<"select">) {
  return <select className={`${css["input"] ?? ""} ${className}`} {...rest} />;
}

export function TextArea({ className = "", ...rest }: ComponentProps<"textarea">) {
  return <textarea className={`${css["input"] ?? ""} ${className}`} spellCheck={false} {...rest} />;
}
