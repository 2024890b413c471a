package rpc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// TestEveryTextOfARequestHasAKind walks the requests of all procedures that others than our services call. A new field
// with text fails it until textKinds says what it is.
func TestEveryTextOfARequestHasAKind(t *testing.T) {
	seen := map[protoreflect.FullName]bool{}
	var undecidedFields []string
	var walk func(message protoreflect.MessageDescriptor)
	walk = func(message protoreflect.MessageDescriptor) {
		if seen[message.FullName()] || computed[message.FullName()] || payload(message.FullName()) {
			return
		}
		seen[message.FullName()] = true
		for i := range message.Fields().Len() {
			field := message.Fields().Get(i)
			of := field
			if field.IsMap() {
				of = field.MapValue()
			}
			if (of.Kind() == protoreflect.StringKind || field.IsMap() && field.MapKey().Kind() == protoreflect.StringKind) && kindOf(field) == undecided {
				undecidedFields = append(undecidedFields, fmt.Sprintf("%s (%s)", field.Name(), field.FullName()))
			}
			if of.Message() != nil {
				walk(of.Message())
			}
		}
	}
	methods := 0
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if name := string(file.Package()); !strings.HasPrefix(name, "flyteidl2.") && !strings.HasPrefix(name, "flytebinary.") {
			return true
		}
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				method := service.Methods().Get(j)
				if procedures[string(service.FullName())][string(method.Name())].class == ClassInternal {
					continue
				}
				methods++
				walk(method.Input())
			}
		}
		return true
	})
	require.Greater(t, methods, 80, "the walk sees the contract")
	slices.Sort(undecidedFields)
	require.Empty(t, undecidedFields, "decide in textKinds what these are:\n%s", strings.Join(undecidedFields, "\n"))
	for name := range textFields {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
		require.NoError(t, err, "textFields: %s", name)
		require.Implements(t, (*protoreflect.FieldDescriptor)(nil), found)
	}
}
