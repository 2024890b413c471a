import { create } from "@bufbuild/protobuf";
import { createRouterTransport } from "@connectrpc/connect";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, expect, it } from "vitest";
import { ConditionService, type AnswerConditionRequest } from "@gen/flytebinary/insight/v1/conditions_pb.js";
import { SimpleType } from "@gen/flyteidl2/core/types_pb.js";
import { ConditionActionSchema } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { Toasts } from "@/design/toast";
import { SignalForm } from "./signal";

afterEach(cleanup);

function show(simple: SimpleType) {
  const sent: AnswerConditionRequest[] = [];
  const transport = createRouterTransport(({ service }) => service(ConditionService, { answerCondition: (request) => (sent.push(request), {}) }));
  const condition = create(ConditionActionSchema, { name: "approve", type: { type: { case: "simple", value: simple } } });
  render(
    <TransportProvider transport={transport}>
      <QueryClientProvider client={new QueryClient()}>
        <Tooltip.Provider>
          <Toasts>
            <SignalForm run={{ project: "p", domain: "d", name: "r" }} action="approve-1" condition={condition} />
          </Toasts>
        </Tooltip.Provider>
      </QueryClientProvider>
    </TransportProvider>,
  );
  return sent;
}

const typeComment = (value: string) => fireEvent.change(screen.getByLabelText(/Comment/), { target: { value } });

it("sends the comment with the answer, as it was when the answer was given", async () => {
  const sent = show(SimpleType.BOOLEAN);
  typeComment(" looks good <b>to me</b> ");
  fireEvent.click(screen.getByRole("button", { name: "Deny" }));
  expect(screen.getByTestId("held-decision").textContent).toContain("looks good <b>to me</b>");
  expect(sent).toHaveLength(0);
  fireEvent.click(screen.getByRole("button", { name: "Now" }));
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]).toMatchObject({ comment: "looks good <b>to me</b>", payload: { value: { case: "boolValue", value: false } } });
  expect(sent[0]?.actionId).toMatchObject({ name: "approve-1", run: { name: "r" } });
});

it("keeps the comment when the answer is taken back", () => {
  const sent = show(SimpleType.INTEGER);
  fireEvent.change(screen.getByLabelText(/Answer/, { selector: "input" }), { target: { value: "7" } });
  typeComment("seven");
  fireEvent.click(screen.getByRole("button", { name: "Send" }));
  fireEvent.click(screen.getByRole("button", { name: "Undo" }));
  expect(screen.getByLabelText<HTMLTextAreaElement>(/Comment/).value).toBe("seven");
  expect(sent).toHaveLength(0);
});
