import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { SecretSchema, Secret_MountType } from "@gen/flyteidl2/core/security_pb.js";
import { Resources_ResourceName, TaskTemplateSchema } from "@gen/flyteidl2/core/tasks_pb.js";
import { containersOf, secretWords, variable } from "./specification";

it.each([
  ["LOG_LEVEL", "30", false],
  ["MY_API_KEY", "abc", true],
  ["DB_PASSWORD", "abc", true],
  ["GITHUB_TOKEN", "", false],
  ["DATABASE", "postgres://me:pw@host/db", true],
  ["HOME_PAGE", "https://example.com/a:b@c", false],
])("%s=%s hidden: %s", (name, value, hidden) => expect(variable(name, value)).toEqual({ name, value: hidden ? "" : value, hidden }));

it("reads a container", () => {
  const template = create(TaskTemplateSchema, {
    target: {
      case: "container",
      value: {
        image: "img:1",
        command: ["a"],
        args: ["b"],
        env: [{ key: "X", value: "1" }],
        resources: {
          requests: [{ name: Resources_ResourceName.CPU, value: "1" }],
          limits: [
            { name: Resources_ResourceName.CPU, value: "2" },
            { name: Resources_ResourceName.MEMORY, value: "1Gi" },
          ],
        },
        ports: [{ containerPort: 80 }],
      },
    },
  });
  expect(containersOf(template)).toEqual([
    {
      name: "primary",
      image: "img:1",
      command: ["a", "b"],
      environment: [{ name: "X", value: "1", hidden: false }],
      resources: [
        ["CPU", "1", "2"],
        ["Memory", "", "1Gi"],
      ],
      ports: ["80"],
    },
  ]);
});

it("reads a pod, the primary container first, and only the names of secrets", () => {
  const template = create(TaskTemplateSchema, {
    target: {
      case: "k8sPod",
      value: {
        primaryContainerName: "main",
        podSpec: {
          initContainers: [{ name: "init", image: "i" }],
          containers: [
            { name: "side", image: "s", resources: { limits: { memory: "1Gi" } } },
            { name: "main", image: "m", env: [{ name: "T", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }, { name: "MY_TOKEN", value: "abc" }, 3] },
          ],
        },
      },
    },
  });
  const found = containersOf(template);
  expect(found.map((one) => one.name)).toEqual(["main", "init", "side"]);
  expect(found[0]?.environment).toEqual([
    { name: "T", value: "from secret s, key k", hidden: false },
    { name: "MY_TOKEN", value: "", hidden: true },
  ]);
  expect(found[2]?.resources).toEqual([["memory", "", "1Gi"]]);
  expect(containersOf(undefined)).toEqual([]);
});

it("names secrets", () => {
  expect(secretWords(create(SecretSchema, { group: "g", key: "k", envVar: "E" }))).toBe("g/k, as environment variable E");
  expect(secretWords(create(SecretSchema, { key: "k", mountRequirement: Secret_MountType.FILE }))).toBe("k, as a file");
});
