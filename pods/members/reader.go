package members

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podsecret"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
	"github.com/flyte-binary/flyte-binary/pods/podstatus"
)

// field is the index of cached pods by attempt.
const field = "flyte.attempt"

// Index lets a Reader find cached pods. It belongs into the plugin's Definition. Plugins share it: the executor adds it once.
func Index() plugin.Index {
	return plugin.Index{Object: &corev1.Pod{}, Field: field, Values: func(pod client.Object) []string {
		labels := pod.GetLabels()
		if labels[podspec.LabelTaskAction] == "" {
			return nil
		}
		return []string{labels[podspec.LabelTaskAction] + "/" + labels[podspec.LabelAttempt]}
	}}
}

// Watch makes changes of members wake their TaskAction.
func Watch() plugin.Watch {
	return plugin.Watch{Object: &corev1.Pod{}, TaskAction: func(pod client.Object) (types.NamespacedName, bool) {
		name := pod.GetLabels()[podspec.LabelTaskAction]
		return types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}, name != ""
	}}
}

// Reader finds the members of attempts and reads their states. It is safe for concurrent use.
type Reader struct {
	deps   plugin.Deps
	states *podstatus.Reader
}

// NewReader returns a reader, which uses the graces and the log links of the configuration.
func NewReader(config podspec.Config, deps plugin.Deps) *Reader {
	return &Reader{deps: deps, states: podstatus.NewReader(config, deps.Clock)}
}

// Cached lists the pods of an attempt from the cache, in no particular order. They must not be changed.
func (r *Reader) Cached(ctx context.Context, attempt *plugin.Attempt) ([]corev1.Pod, error) {
	return list(ctx, r.deps.Cache, attempt, client.MatchingFields{field: attempt.Task.Name + "/" + number(attempt)})
}

// Live lists the pods of an attempt from the API server. The caches of types are independent: an object may be seen to have
// ended before the pods that it had are seen.
func (r *Reader) Live(ctx context.Context, attempt *plugin.Attempt) ([]corev1.Pod, error) {
	return list(ctx, r.deps.Live, attempt,
		client.MatchingLabels{podspec.LabelTaskAction: attempt.Task.Name, podspec.LabelAttempt: number(attempt)})
}

func list(ctx context.Context, from client.Reader, attempt *plugin.Attempt, which client.ListOption) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	if err := from.List(ctx, pods, client.InNamespace(attempt.Task.Namespace), which); err != nil {
		return nil, fmt.Errorf("list pods of %s, attempt %d: %w", attempt.Task.Name, attempt.Number, err)
	}
	return pods.Items, nil
}

func number(attempt *plugin.Attempt) string { return strconv.Itoa(int(attempt.Number)) }

// Member is one pod of an attempt with its state.
type Member struct {
	// Role is the name of the pod's role; empty in an attempt with one role.
	Role string
	Pod  *corev1.Pod
	// State is that of an attempt which has this pod only.
	State plugin.State
	// Primary marks the member whose end is the end of the attempt, such as a head.
	Primary bool
}

// String returns the words for the member in messages.
func (m Member) String() string {
	if m.Role == "" {
		return "pod " + m.Pod.Name
	}
	return m.Role + " pod " + m.Pod.Name
}

// Of reads the state of a pod. The attempt has the template of the pod's role. Values of secrets are removed from what the
// cluster says.
func (r *Reader) Of(ctx context.Context, attempt *plugin.Attempt, pod *corev1.Pod) (Member, error) {
	pod, err := podsecret.Clean(ctx, podsecret.From(r.deps.Live), pod)
	if err != nil {
		return Member{}, err
	}
	return Member{Role: pod.Labels[podspec.LabelRole], Pod: pod, State: r.states.Observe(attempt, pod)}, nil
}

// LinksOfPods are the names of the links that differ by member.
func (r *Reader) LinksOfPods(attempt *plugin.Attempt) map[string]bool {
	return r.states.LinksOfPods(attempt)
}

// Restarts returns how often the kubelet restarted the container of the task in the pod, and how it ended the last time, in words.
func (m Member) Restarts() (count int32, why string) {
	for _, own := range m.State.LogContext.GetPods() {
		return podstatus.Restarts(m.Pod, own.GetPrimaryContainerName())
	}
	return 0, ""
}
