package taskactions_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyte-binary/flyte-binary/actions/taskactions"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

// FuzzAssignment builds objects from assignments with arbitrary specs: the API server would accept each name, label and
// annotation, and no spec overrides those that identify the action.
func FuzzAssignment(f *testing.F) {
	id := &common.ActionIdentifier{Name: "A_é-0", Run: &common.RunIdentifier{Project: "P.x", Domain: "d", Name: "r1"}}
	for _, assignment := range []*enginev1.Assignment{
		{},
		{Ref: &enginev1.ActionRef{Uid: 1, Id: id}, Attempt: 1 << 31},
		{Ref: &enginev1.ActionRef{Uid: 7, Id: id}, RunSpec: &task.RunSpec{
			Labels:      &task.Labels{Values: map[string]string{"flyte.org/run": "other", "a b": "c", "ok": "x/y", "": ""}},
			Annotations: &task.Annotations{Values: map[string]string{"flyte.org/uid": "1", "x": "\x00"}},
		}},
	} {
		body, err := proto.Marshal(assignment)
		require.NoError(f, err)
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		assignment := &enginev1.Assignment{}
		if proto.Unmarshal(body, assignment) != nil || assignment.GetRef().GetUid() < 0 { // uids come from a sequence
			return
		}
		made := taskactions.FromAssignment(assignment, "ns")
		require.Empty(t, validation.IsDNS1123Label(made.Name), made.Name)
		for key, value := range made.Labels {
			require.Empty(t, validation.IsQualifiedName(key), key)
			require.Empty(t, validation.IsValidLabelValue(value), value)
		}
		for key := range made.Annotations {
			require.Empty(t, validation.IsQualifiedName(key), key)
		}
		require.Equal(t, v1.ManagedValue, made.Labels[v1.LabelManaged])
		require.GreaterOrEqual(t, made.CurrentAttempt(), int32(1))
	})
}
