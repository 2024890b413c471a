package rpc

import (
	"errors"
	"slices"
	"testing"

	"buf.build/go/protovalidate"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cluster"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	_ "github.com/flyte-binary/flyte-binary/internal/wire/contracttest" // all messages
)

// TestOrganisationIsNeverRequired: a message without an organization, or with one without a name, breaks no rule by
// that, whichever way the message names it.
func TestOrganisationIsNeverRequired(t *testing.T) {
	organisations := 0
	var check func(messages protoreflect.MessageDescriptors)
	check = func(messages protoreflect.MessageDescriptors) {
		for i := range messages.Len() {
			message := messages.Get(i)
			check(message.Messages())
			var named []string
			for j := range message.Fields().Len() {
				if field := message.Fields().Get(j); namesOrganisation(field) {
					named = append(named, string(field.Name()))
				}
			}
			if len(named) == 0 {
				continue
			}
			organisations++
			var broken *protovalidate.ValidationError
			err := protovalidate.Validate(dynamicpb.NewMessage(message), protovalidate.WithFilter(exceptOrganisation{}))
			if err == nil || !errors.As(err, &broken) {
				require.NoError(t, err)
				continue
			}
			for _, violation := range broken.Violations {
				require.False(t, slices.Contains(named, protovalidate.FieldPathString(violation.Proto.GetField())), "%s: %s", message.FullName(), violation)
			}
		}
	}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		check(file.Messages())
		return true
	})
	require.Greater(t, organisations, 30, "the walk sees the contract")

	require.NoError(t, validation{}.check(t.Context(), "/flyteidl2.cluster.ClusterService/SelectCluster", &cluster.SelectClusterRequest{
		Resource:  &cluster.SelectClusterRequest_OrgId{OrgId: &common.OrgIdentifier{}},
		Operation: cluster.SelectClusterRequest_OPERATION_CREATE_UPLOAD_LOCATION,
	}))
}
