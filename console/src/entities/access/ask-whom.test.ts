import { expect, it } from "vitest";
import { requestWords } from "./ask-whom";

const page = "https://flyte.example.com/v2/keys";

it("asks for the smallest role, and says who asks", () => {
  expect(requestWords({ subject: "00u1", name: "Ada" }, "run.create", { project: "p", domain: "d" }, "runner", page)).toBe(
    `Please give me the role runner in p/d. I need run.create (Start, rerun and recover runs) for ${page}. My subject is Ada, 00u1.`,
  );
});

it("asks for the permission where no role gives it, and names a subject once", () => {
  expect(requestWords({ subject: "ada", name: "ada" }, "run.fly", "anywhere", undefined, page)).toBe(
    `Please give me the permission run.fly in any project. I need run.fly (run.fly) for ${page}. My subject is ada.`,
  );
});
