package apps

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
)

// TestEveryFieldIsRuled fails when the contract gets a field of which nothing is decided.
func TestEveryFieldIsRuled(t *testing.T) {
	for name, ruled := range rulings {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
		require.NoError(t, err)
		fields := found.(protoreflect.MessageDescriptor).Fields()
		require.Len(t, ruled, fields.Len(), "%s", name)
		for i := range fields.Len() {
			require.Contains(t, ruled, fields.Get(i).Name(), "%s", name)
		}
	}
}
