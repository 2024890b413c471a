package operated

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/pods/members"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

func TestWhoIsToBlame(t *testing.T) {
	p := &Plugin{kind: Kind{Object: schema.GroupVersionKind{Kind: "RayJob"}, Followers: []string{"submitter"}}}
	object := p.kind.Blank()
	object.SetName("j")
	member := func(role string, reason failure.Reason) members.Member {
		return members.Member{
			Role: role, Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p-" + role}}, State: plugin.Lost(failure.New(reason, "")),
		}
	}
	submits := member("submitter", failure.ContainerFailed)
	for name, tc := range map[string]struct {
		reading Reading
		members []members.Member
		reason  failure.Reason
		words   string
	}{
		"the head was lost, and who submits with it": {
			members: []members.Member{submits, member("head", failure.NodeLost)}, reason: failure.NodeLost, words: "head pod p-head: ",
		},
		"the program failed, and its cluster was deleted": {
			reading: Reading{Program: true}, members: []members.Member{submits, member("head", failure.UnexpectedDeletion)},
			reason: failure.ContainerFailed, words: "submitter pod p-submitter: ",
		},
		"who submits does not reach the head": {
			reading: Reading{NotStarted: true}, members: []members.Member{submits}, reason: failure.RuntimeNotStarted, words: "submitter pod p-submitter: ",
		},
		"only who submits failed": {members: []members.Member{submits}, reason: failure.ContainerFailed},
		"no pod, by the task":     {reading: Reading{ByUser: true, Reason: "Failed"}, reason: failure.GangFailed, words: "RayJob j: Failed"},
		"no pod, by the operator": {reading: Reading{Reason: "SubmissionFailed", Message: "m"}, reason: failure.OperatorFailed, words: "RayJob j: SubmissionFailed: m"},
	} {
		var state plugin.State
		p.fail(&state, &plugin.Attempt{}, object, tc.reading, tc.members)
		why := state.Failure
		require.Equal(t, tc.reason, why.Reason, name)
		require.Contains(t, why.Message, tc.words, name)
	}
}

// TestWhoDeletedThePod: an operator that keeps the pods of what has failed has not deleted the one that is gone.
func TestWhoDeletedThePod(t *testing.T) {
	p := &Plugin{kind: Kind{Object: schema.GroupVersionKind{Kind: "SparkApplication"}, KeepsPrimary: true}}
	object := p.kind.Blank()
	why := func(reading Reading, all ...members.Member) *failure.Failure {
		return p.withoutCulprit(object, reading, all)
	}
	other := members.Member{Role: "executor", Pod: &corev1.Pod{}}
	main := members.Member{Role: "driver", Primary: true, Pod: &corev1.Pod{}}
	program, submission := Reading{ByUser: true, Reason: "FAILED", Message: "driver pod not found"}, Reading{Reason: "FAILED", Message: "no spark-submit"}
	require.Equal(t, failure.DeletedExternally, why(program, other).Reason)
	require.Contains(t, why(program).Message, "has failed without its main pod: FAILED: driver pod not found")
	require.Equal(t, failure.GangFailed, why(program, other, main).Reason)
	require.Equal(t, failure.OperatorFailed, why(submission).Reason)
}

// TestWhoseOutputsCount: outputs that the first pod wrote do not undo the failure of another pod. What the operator stopped when the
// first pod crashed after that does not count.
func TestWhoseOutputsCount(t *testing.T) {
	p := &Plugin{kind: Kind{Followers: []string{"submitter"}}}
	member := func(role string, reason failure.Reason) members.Member {
		result := members.Member{Role: role, Primary: role == "first"}
		if reason != "" {
			result.State = plugin.Lost(failure.New(reason, ""))
		}
		return result
	}
	for name, tc := range map[string]struct {
		members []members.Member
		others  bool
	}{
		"the first pod crashed": {[]members.Member{member("first", failure.ContainerFailed), member("worker", "")}, false},
		"the first pod crashed, the other was stopped": {
			[]members.Member{member("first", failure.ContainerFailed), member("worker", failure.UnexpectedDeletion)}, false,
		},
		"another pod crashed":           {[]members.Member{member("first", ""), member("worker", failure.ContainerFailed)}, true},
		"both crashed":                  {[]members.Member{member("first", failure.ContainerFailed), member("worker", failure.ContainerFailed)}, true},
		"another pod ran out of memory": {[]members.Member{member("first", failure.ContainerFailed), member("worker", failure.OOMKilled)}, true},
		"another pod was lost":          {[]members.Member{member("first", ""), member("worker", failure.NodeLost)}, true},
		"no pod is left":                {nil, true},
	} {
		require.Equal(t, tc.others, p.othersFailed(Reading{}, tc.members), name)
	}
	late := Reading{Unseen: true}
	require.False(t, p.othersFailed(late, []members.Member{member("first", ""), member("worker", "")}), "the operator was late")
	require.True(t, p.othersFailed(late, []members.Member{member("first", ""), member("worker", failure.OOMKilled)}))
	require.True(t, p.othersFailed(late, []members.Member{member("worker", "")}))
}
