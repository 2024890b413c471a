// Package contracttest links the whole contract into tests that walk it.
package contracttest

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	_ "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"     // its messages
	_ "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"   // its messages
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

// Naming are requests of a procedure that name things, by the path of the field that names one: one for each such field, and one that
// names nothing, with an empty path. The things are by the message that names one. It panics if one cannot be encoded.
func Naming(method protoreflect.MethodDescriptor, things map[protoreflect.FullName]proto.Message) map[string]*dynamicpb.Message {
	requests := map[string]*dynamicpb.Message{"": dynamicpb.NewMessage(method.Input())}
	var walk func(message protoreflect.MessageDescriptor, path string, depth int, in func(*dynamicpb.Message) protoreflect.Message)
	walk = func(message protoreflect.MessageDescriptor, path string, depth int, in func(*dynamicpb.Message) protoreflect.Message) {
		for i := range message.Fields().Len() {
			field := message.Fields().Get(i)
			if field.Message() == nil || field.IsMap() || depth > 3 {
				continue
			}
			below := func(root *dynamicpb.Message) protoreflect.Message {
				if field.IsList() {
					return in(root).Mutable(field).List().AppendMutable().Message()
				}
				return in(root).Mutable(field).Message()
			}
			thing, known := things[field.Message().FullName()]
			if !known {
				walk(field.Message(), path+string(field.Name())+".", depth+1, below)
				continue
			}
			request := dynamicpb.NewMessage(method.Input())
			raw, err := proto.Marshal(thing)
			if err == nil {
				err = proto.Unmarshal(raw, below(request).Interface())
			}
			if err != nil {
				panic(err)
			}
			requests[path+string(field.Name())] = request
		}
	}
	walk(method.Input(), "", 0, func(root *dynamicpb.Message) protoreflect.Message { return root })
	return requests
}
