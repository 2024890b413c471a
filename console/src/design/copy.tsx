import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { t } from "@/texts/texts";
import { IconButton } from "./button";
import { copyText } from "./clipboard";
import { useNotify } from "./toast";

/** Copies text to the clipboard and confirms it briefly. */
export function CopyButton({ text, label = t("Copy") }: { readonly text: string | (() => string); readonly label?: string }) {
  const notify = useNotify();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => {
    void copyText(typeof text === "string" ? text : text()).then((done) => (done ? setCopied(true) : notify("danger", t("The browser blocked copying"))));
  };
  return (
    <IconButton small label={copied ? t("Copied") : label} onClick={copy}>
      {copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
    </IconButton>
  );
}
