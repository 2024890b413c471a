import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { useSyncExternalStore } from "react";
import { t } from "@/texts/texts";

const signInPage = "/access/sign-in";
/** Where people get after they signed in again in a tab of its own. */
export const signedInPage = "/v2/signed-in";
/** How often the server is asked whether the person has signed in again, in milliseconds. */
const askEvery = 2000;

/** Whether a call of this page was answered: then the page may hold a form, and is not left. */
let entered = false;
let subject: string | undefined;
let leaving = false;
let ended: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
const listeners = new Set<() => void>();

/** The sign-in page, which leads to a path afterwards; to the current one by default. */
export const signInPath = (to = `${location.pathname}${location.search}${location.hash}`): string =>
  `${signInPage}?${new URLSearchParams({ return: to }).toString()}`;

/** Reports who the server says the caller is. */
export function reportCaller(name: string): void {
  entered = true;
  subject = name;
}

/**
 * The caller is not signed in. A page that was never answered is left for the sign-in page, which leads back to it. Another one stays
 * as it is, says that the session has ended, and resolves when the same person has signed in again in another tab.
 */
export async function signedInAgain(signal?: AbortSignal): Promise<void> {
  if (!entered) {
    if (!leaving) location.replace(signInPath());
    leaving = true;
    return new Promise<never>(() => undefined); // the page goes away
  }
  const current = ended ?? end();
  if (!signal) return current.promise;
  return Promise.race([
    current.promise,
    new Promise<never>((_, reject) => {
      const stop = () => reject(new ConnectError(t("the call was canceled"), Code.Canceled));
      if (signal.aborted) stop();
      else signal.addEventListener("abort", stop, { once: true });
    }),
  ]);
}

/** Ends the session, also at the identity provider where that is possible, and leaves the page. */
export async function signOut(): Promise<void> {
  const answer = await fetch("/access/sign-out", { method: "POST", headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`The server answered ${answer.status} ${answer.statusText}.`);
  const { to } = (await answer.json()) as { readonly to: string };
  location.assign(to);
}

/** Sends calls that the server did not take without a session again, after the person has signed in. */
export const session: Interceptor = (next) => async (request) => {
  for (;;) {
    try {
      const response = await next(request);
      if (!request.stream) entered = true;
      return response;
    } catch (error) {
      if (request.stream || ConnectError.from(error).code !== Code.Unauthenticated) throw error;
      await signedInAgain(request.signal);
    }
  }
};

function end() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  const current = { promise, resolve };
  change(current);
  const ask = () =>
    void caller().then((name) => {
      if (name === undefined || ended !== current) return;
      // What the page shows belongs to another person.
      if (subject !== undefined && name !== subject) location.reload();
      else change(undefined);
    });
  const timer = setInterval(ask, askEvery);
  addEventListener("focus", ask);
  void promise.then(() => {
    clearInterval(timer);
    removeEventListener("focus", ask);
  });
  return current;
}

function change(next: typeof ended): void {
  ended?.resolve();
  ended = next;
  for (const listener of listeners) listener();
}

/** The subject of the caller; undefined if there is no session, or no answer. Not by a client: those wait for the session. */
async function caller(): Promise<string | undefined> {
  try {
    const answer = await fetch("/flytebinary.access.v1.AccessService/GetMe", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: "{}",
      cache: "no-store",
    });
    if (!answer.ok) return undefined;
    const { subject: name = "" } = (await answer.json()) as { readonly subject?: string };
    return name;
  } catch {
    return undefined;
  }
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Whether the session of this page has ended. */
export const useSessionEnded = (): boolean => useSyncExternalStore(subscribe, () => ended !== undefined);
