import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { FileDescriptorProtoSchema, type FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import type { Plugin } from "vite";

/** An expression for a file in base64. The bytes themselves are written, since their names compress well, and base64 does not. */
const encoded = (file: FileDescriptorProto) =>
  `/*@__PURE__*/ btoa(${JSON.stringify(Buffer.from(toBinary(FileDescriptorProtoSchema, file)).toString("latin1"))})`;

// Nothing in the console reads the messages of this file; the files that import it need it to be there.
const noRules = `import { fileDesc } from "@bufbuild/protobuf/codegenv2";
export const file_buf_validate_validate = /*@__PURE__*/ fileDesc(${encoded(create(FileDescriptorProtoSchema, { name: "buf/validate/validate.proto", package: "buf.validate" }))});`;

/**
 * Makes the generated descriptors smaller, which were a quarter of what a browser loads first: without the rules of fields, which only the
 * server reads, and not in base64. Options of protobuf itself stay.
 */
export const leanDescriptors: Plugin = {
  name: "lean-descriptors",
  enforce: "pre",
  transform(code, id) {
    if (!/\/gen\/ts\/.*_pb\.ts$/.test(id)) return null;
    if (id.endsWith("/buf/validate/validate_pb.ts")) return { code: noRules, map: null };
    const lean = (file: string) => encoded(fromBinary(FileDescriptorProtoSchema, base64Decode(file), { readUnknownFields: false }));
    return { code: code.replace(/(?<=fileDesc\()"([^"]+)"/, (_, file: string) => lean(file)), map: null };
  },
};
