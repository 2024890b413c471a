import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import { FileDescriptorProtoSchema, type FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import type { Plugin } from "vite";

const encoded = (file: FileDescriptorProto) => base64Encode(toBinary(FileDescriptorProtoSchema, file), "std_raw");

// Nothing in the console reads the messages of this file; the files that import it need it to be there.
const noRules = `import { fileDesc } from "@bufbuild/protobuf/codegenv2";
export const file_buf_validate_validate = /*@__PURE__*/ fileDesc("${encoded(create(FileDescriptorProtoSchema, { name: "buf/validate/validate.proto", package: "buf.validate" }))}");`;

/**
 * Takes the rules of fields, which only the server reads, out of the generated descriptors. They are base64 and hardly compress:
 * they were a tenth of what a browser loads first. Options of protobuf itself stay.
 */
export const leanDescriptors: Plugin = {
  name: "lean-descriptors",
  enforce: "pre",
  transform(code, id) {
    if (!/\/gen\/ts\/.*_pb\.ts$/.test(id)) return null;
    if (id.endsWith("/buf/validate/validate_pb.ts")) return { code: noRules, map: null };
    const lean = (file: string) => encoded(fromBinary(FileDescriptorProtoSchema, base64Decode(file), { readUnknownFields: false }));
    return { code: code.replace(/(fileDesc\(")([^"]+)/, (_, call: string, file: string) => call + lean(file)), map: null };
  },
};
