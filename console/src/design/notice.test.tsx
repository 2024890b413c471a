import { Code, ConnectError } from "@connectrpc/connect";
import { render, screen } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { ProblemNotice } from "./notice";

describe("a notice of an error", () => {
  const shown = (code: Code) => {
    const { unmount } = render(
      <ProblemNotice error={new ConnectError("run r does not exist", code)} retry={vi.fn()}>
        <a href="/v2/">All runs</a>
      </ProblemNotice>,
    );
    const found = [screen.queryByRole("button", { name: "Retry" }) !== null, screen.queryByRole("link", { name: "All runs" }) !== null];
    unmount();
    return found;
  };
  it.each([Code.Unavailable, Code.DeadlineExceeded, Code.Internal, Code.ResourceExhausted, Code.PermissionDenied, Code.FailedPrecondition])("offers a retry where one can help: %i", (code) => {
    expect(shown(code)).toEqual([true, true]);
  });
  it.each([Code.NotFound, Code.InvalidArgument, Code.Unimplemented, Code.AlreadyExists])("offers only the way on where none can: %i", (code) => {
    expect(shown(code)).toEqual([false, true]);
  });
});
