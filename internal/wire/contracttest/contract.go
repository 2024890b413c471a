// Package contracttest links the whole contract into tests that walk it.
package contracttest

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"     // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"     // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"    // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"     // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"         // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"             // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"        // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth"            // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"    // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2" // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cluster"         // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"       // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"       // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder"    // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/org"             // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"         // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"          // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"        // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"            // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"         // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"        // its messages
)

// Methods are all procedures of the contract.
func Methods() []protoreflect.MethodDescriptor {
	var all []protoreflect.MethodDescriptor
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		name := string(file.Package())
		if !strings.HasPrefix(name, "flyteidl2.") && !strings.HasPrefix(name, "flytebinary.") {
			return true
		}
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				all = append(all, methods.Get(j))
			}
		}
		return true
	})
	return all
}

// ProcedureOf is the name of a procedure as calls have it.
func ProcedureOf(method protoreflect.MethodDescriptor) string {
	return "/" + string(method.Parent().FullName()) + "/" + string(method.Name())
}
