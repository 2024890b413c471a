// Command protodeps prints the third-party .proto files that our protos import, so that buf finds them as a
// local module and needs no schema registry. The sources are the descriptors compiled into the Go modules of
// the respective projects, pinned by this module's go.mod.
package main

import (
	"fmt"
	"os"

	"github.com/jhump/protoreflect/v2/protoprint"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	_ "google.golang.org/genproto/googleapis/api/annotations"
	_ "google.golang.org/genproto/googleapis/rpc/status"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: protodeps OUTPUT_DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "protodeps:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	paths := []string{
		"buf/validate/validate.proto",
		"google/api/http.proto",
		"google/api/annotations.proto",
		"google/rpc/status.proto",
	}
	files := make([]protoreflect.FileDescriptor, 0, len(paths))
	for _, path := range paths {
		file, err := protoregistry.GlobalFiles.FindFileByPath(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		files = append(files, file)
	}
	printer := protoprint.Printer{Compact: true}
	return printer.PrintProtosToFileSystem(files, out)
}
