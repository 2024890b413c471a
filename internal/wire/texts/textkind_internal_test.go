package texts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/contracttest"
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
	for _, method := range contracttest.Methods() {
		if rule, _ := authz.RuleOf(contracttest.ProcedureOf(method)); rule.By.Internal() {
			continue
		}
		methods++
		walk(method.Input())
	}
	require.Greater(t, methods, 80, "the walk sees the contract")
	slices.Sort(undecidedFields)
	require.Empty(t, undecidedFields, "decide in textKinds what these are:\n%s", strings.Join(undecidedFields, "\n"))
	for name := range textFields {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
		require.NoError(t, err, "textFields: %s", name)
		require.Implements(t, (*protoreflect.FieldDescriptor)(nil), found)
	}
}
