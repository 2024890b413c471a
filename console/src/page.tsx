import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { Tooltip } from "radix-ui";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { problemOf } from "@/api/problem";
import { transport } from "@/api/transport";
import { PreferencesProvider } from "@/app/preferences";
import { router } from "@/shell/router";
import { Toasts } from "@/design/toast";
import "@/design/tokens.css";
import "@/design/base.css";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5000,
      retry: (failures, error) => failures < 8 && problemOf(error).passing,
      retryDelay: (attempt) => Math.min(250 * 2 ** attempt, 5000),
    },
  },
});

/** Draws the console. The caller has loaded the language: constants of all modules may have texts. */
export function draw(): void {
  const root = document.getElementById("root");
  if (!root) throw new Error("index.html has no #root");
  createRoot(root).render(
    <StrictMode>
      <PreferencesProvider>
        <TransportProvider transport={transport}>
          <QueryClientProvider client={queries}>
            <Tooltip.Provider delayDuration={300}>
              <Toasts>
                <RouterProvider router={router} />
              </Toasts>
            </Tooltip.Provider>
          </QueryClientProvider>
        </TransportProvider>
      </PreferencesProvider>
    </StrictMode>,
  );
}
