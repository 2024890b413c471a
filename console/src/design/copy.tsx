import { Check, Copy, X } from "lucide-react";
import { useEffect, useState } from "react";
import { t } from "@/texts/texts";
import { IconButton } from "./button";
import { copyText } from "./clipboard";

/** Copies text to the clipboard and says briefly whether that worked. */
export function CopyButton({ text, label = t("Copy") }: { readonly text: string | (() => string); readonly label?: string }) {
  const [copied, setCopied] = useState<boolean>();
  useEffect(() => {
    if (copied === undefined) return;
    const timer = setTimeout(() => setCopied(undefined), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => {
    void copyText(typeof text === "string" ? text : text()).then(setCopied);
  };
  if (copied === undefined) {
    return (
      <IconButton small label={label} onClick={copy}>
        <Copy size={14} aria-hidden />
      </IconButton>
    );
  }
  return (
    <IconButton small label={copied ? t("Copied") : t("The browser blocked copying")} onClick={copy}>
      {copied ? <Check size={14} aria-hidden /> : <X size={14} aria-hidden />}
    </IconButton>
  );
}
