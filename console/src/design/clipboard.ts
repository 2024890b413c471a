/** Puts text on the clipboard, and tells whether the browser allowed it. Browsers have the modern way at secure addresses alone, so a console
 * at a plain http address uses the older one, which copies what is selected. */
export async function copyText(text: string): Promise<boolean> {
  // The type says that it is always there.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard === undefined) return copySelected(text);
  return clipboard.writeText(text).then(
    () => true,
    () => false,
  );
}

function copySelected(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.setAttribute("aria-hidden", "true");
  field.style.position = "fixed"; // the page does not scroll to it
  field.style.opacity = "0";
  // Outside of an open dialog, nothing can have the focus.
  (before?.closest("dialog, [role=dialog], [role=menu]") ?? document.body).append(field);
  field.select();
  try {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- nothing else copies at a plain http address
    return document.execCommand("copy");
  } finally {
    field.remove();
    if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  }
}
