package operated

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/pods/members"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

var start = time.Unix(1000, 0)

// ranked is a member of a gang whose first pod writes.
func ranked(name string, reason failure.Reason, after time.Duration) members.Member {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever}}
	m := members.Member{Role: "worker", Pod: pod, Primary: name == "j-0"}
	m.State.Phase = common.ActionPhase_ACTION_PHASE_RUNNING
	if reason != "" {
		m.State = plugin.Lost(failure.New(reason, ""))
		m.State.EndedAt = start.Add(after)
	}
	return m
}

// stopping is a member that the system began to stop.
func stopping(m members.Member, after time.Duration, condition string) members.Member {
	grace := int64(30)
	m.Pod.DeletionTimestamp = &metav1.Time{Time: start.Add(after + 30*time.Second)}
	m.Pod.DeletionGracePeriodSeconds = &grace
	if condition != "" {
		m.Pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: condition}}
	}
	return m
}

// TestADisruptionIsNotTheTasksFault: the operator counts a pod that is being deleted as failed at once, and the others then fail by
// themselves, since they have lost it.
func TestADisruptionIsNotTheTasksFault(t *testing.T) {
	kind := Kind{Object: schema.GroupVersionKind{Kind: "PyTorchJob"}, KeepsPods: true, Ranked: true}
	object := kind.Blank()
	object.SetName("j")
	restarts := func(m members.Member) members.Member {
		m.Pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		return m
	}
	for name, tc := range map[string]struct {
		pods    int
		members []members.Member
		reason  failure.Reason
		words   string
		deletes bool // the operator deletes pods itself
	}{
		"a pod is being drained": {
			pods: 2, members: []members.Member{ranked("j-0", "", 0), stopping(ranked("j-1", "", 0), 0, "EvictionByEvictionAPI")},
			reason: failure.Evicted, words: "worker pod j-1: ",
		},
		"it is preempted, and the first one fails": {
			pods:    2,
			members: []members.Member{ranked("j-0", failure.ContainerFailed, 5*time.Second), stopping(ranked("j-1", "", 0), 0, "PreemptionByScheduler")},
			reason:  failure.Preemption, words: "worker pod j-1: ",
		},
		"it has ended, and the first one fails": {
			pods: 2, members: []members.Member{ranked("j-0", failure.ContainerFailed, 5*time.Second), ranked("j-1", failure.Evicted, 0)},
			reason: failure.Evicted, words: "worker pod j-1: ",
		},
		"it is gone":                        {pods: 2, members: []members.Member{ranked("j-0", "", 0)}, reason: failure.DeletedExternally, words: "1 of 2 pods of PyTorchJob j"},
		"it is gone, the first one fails":   {pods: 2, members: []members.Member{ranked("j-0", failure.ContainerFailed, 0)}, reason: failure.DeletedExternally},
		"all are there, and one has failed": {pods: 2, members: []members.Member{ranked("j-0", "", 0), ranked("j-1", failure.ContainerFailed, 0)}, reason: failure.ContainerFailed},
		"one failed, then another was deleted": {
			pods: 2, members: []members.Member{ranked("j-0", failure.ContainerFailed, 0), stopping(ranked("j-1", "", 0), 10*time.Second, "")},
			reason: failure.ContainerFailed, words: "worker pod j-0: ",
		},
		"the operator restarts it": {
			pods: 2, members: []members.Member{restarts(ranked("j-0", failure.ContainerFailed, 0)), restarts(stopping(ranked("j-1", "", 0), 0, ""))},
			reason: failure.ContainerFailed,
		},
		"an operator that stops the others": {
			deletes: true, members: []members.Member{ranked("j-0", failure.ContainerFailed, 0), stopping(ranked("j-1", failure.UnexpectedDeletion, 0), 0, "")},
			reason: failure.ContainerFailed, words: "worker pod j-0: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			own := kind
			own.KeepsPods = !tc.deletes
			var state plugin.State
			(&Plugin{kind: own}).fail(&state, &plugin.Attempt{Dir: "/d"}, object, Reading{Pods: tc.pods, Reason: "Failed"}, tc.members)
			require.Equal(t, tc.reason, state.Failure.Reason)
			require.Contains(t, state.Failure.Message, tc.words)
		})
	}
}

// TestWhoseErrorDocumentCounts: what one pod wrote does not explain the failure of another.
func TestWhoseErrorDocumentCounts(t *testing.T) {
	own := ranked("j-w", failure.ContainerFailed, 0)
	own.Pod.Spec.Containers = []corev1.Container{{Env: []corev1.EnvVar{{Name: "FLYTE_MEMBER"}}}}
	for name, tc := range map[string]struct {
		failed     members.Member
		dir        string
		noDocument bool
	}{
		"the first pod":                 {ranked("j-0", failure.ContainerFailed, 0), "", false},
		"another one of its role":       {ranked("j-1", failure.ContainerFailed, 0), "", true},
		"one that has files of its own": {own, blobpath.Member("/d", "j-w"), false},
	} {
		kind := Kind{Object: schema.GroupVersionKind{Kind: "TFJob"}, Ranked: true}
		var state plugin.State
		(&Plugin{kind: kind}).fail(&state, &plugin.Attempt{Dir: "/d"}, kind.Blank(), Reading{}, []members.Member{ranked("j-0", "", 0), tc.failed})
		require.Equal(t, tc.dir, state.ErrorDir, name)
		require.Equal(t, tc.noDocument, state.NoDocument, name)
	}
}
