package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/executor"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// secretValues is SecretValueService of the project p in the domain d.
type secretValues struct {
	mu     sync.Mutex
	values map[string]string // GUARDED_BY(mu)
	sealed bool              // GUARDED_BY(mu): the backend does not answer
	calls  int               // GUARDED_BY(mu)
}

func (s *secretValues) set(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[string]string{}
	}
	s.values[name] = value
}

func (s *secretValues) seal(sealed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = sealed
}

func (s *secretValues) called() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// GetSecretValues implements enginev1connect.SecretValueServiceClient.
func (s *secretValues) GetSecretValues(_ context.Context, request *enginev1.GetSecretValuesRequest) (*enginev1.GetSecretValuesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.sealed {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("secret backend vault is not available: Vault is sealed"))
	}
	answer := &enginev1.GetSecretValuesResponse{Searched: []string{"project " + request.GetProject() + " in domain " + request.GetDomain(), "domain d", "the organization"}}
	for _, name := range request.GetNames() {
		if value, found := s.values[name]; found {
			answer.Values = append(answer.Values, &enginev1.SecretValue{Name: name, Value: []byte(value)})
		} else {
			answer.Missing = append(answer.Missing, name)
		}
	}
	return answer, nil
}

func withSecret(t *core.TaskTemplate) {
	t.SecurityContext = &core.SecurityContext{Secrets: []*core.Secret{
		{Key: "key", MountRequirement: core.Secret_ENV_VAR, EnvVar: "KEY"}, {Key: "key", MountRequirement: core.Secret_FILE},
	}}
}

const hidden = "correct-horse-battery-staple"

// In the cluster, the value is in the Secret of the attempt and nowhere else; the next attempt gets the new one.
func TestSecretsReachTheNextAttemptByReference(t *testing.T) {
	var h *harness
	var ran seen
	h = newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		ran.add(pod)
		if len(ran.all()) == 1 {
			h.secrets.set("key", hidden+"-2")
			return kubetest.Result{ExitCode: 1}
		}
		return succeeds(ctx, pod)
	}})
	h.secrets.set("key", hidden+"-1")
	action, task := h.submit(taskTemplate(withRetries(1), withSecret, withoutOutputs))
	h.record.awaitPhase(t, action, 2, state.Succeeded)
	h.awaitGone(task)
	require.Len(t, ran.all(), 2)
	for i, pod := range ran.all() {
		text, err := json.Marshal(pod)
		require.NoError(t, err)
		require.NotContains(t, string(text), hidden)
		named := pod.Spec.Volumes[0].Projected.Sources[0].Secret.Name
		secret, err := h.Clientset.CoreV1().Secrets(h.Namespace).Get(t.Context(), named, metav1.GetOptions{})
		require.NoError(t, err, "there is no garbage collector here")
		require.Equal(t, hidden+[]string{"-1", "-2"}[i], string(secret.Data["key"]))
		require.Equal(t, v1.Kind, secret.OwnerReferences[0].Kind)
		require.Equal(t, task.UID, secret.OwnerReferences[0].UID, "which collects it with the TaskAction")
	}
	for _, transition := range h.record.events(action) {
		require.NotContains(t, transition.String(), hidden)
	}
	events, err := h.Clientset.CoreV1().Events(h.Namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.NotContains(t, events.String(), hidden)
}

func TestAMissingSecretFailsTheActionBeforeAnythingStarts(t *testing.T) {
	var ran seen
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		ran.add(pod)
		return succeeds(ctx, pod)
	}})
	action, task := h.submit(taskTemplate(withRetries(3), withSecret))
	h.record.awaitPhase(t, action, 1, state.Failed)
	failed := h.record.last(action).GetError()
	require.Equal(t, "SecretMissing", failed.GetCode())
	require.Equal(t, core.ExecutionError_USER, failed.GetKind())
	require.Contains(t, failed.GetMessage(), "key; searched were project p in domain d, then domain d, then the organization")
	h.awaitGone(task)
	require.Empty(t, ran.all())
}

// Fault: the backend stops to answer. No attempt is lost, and the task starts when it answers again.
func TestASealedBackendDelaysTasks(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: succeeds}, func(c *executor.Config) { c.Reconciler.ErrorBackoff, c.Reconciler.MaxErrorBackoff = 1e6, 1e7 })
	h.secrets.set("key", hidden)
	h.secrets.seal(true)
	action, _ := h.submit(taskTemplate(withSecret, withoutOutputs))
	h.record.await(t, "the reason is shown", func() bool {
		for _, transition := range h.record.events(action) {
			for _, event := range transition.GetEvent().GetClusterEvents() {
				if event.GetReason() == "ClusterUnavailable" {
					require.Contains(t, event.GetMessage(), "Vault is sealed")
					return true
				}
			}
		}
		return false
	})
	require.Greater(t, h.secrets.called(), 1)
	require.Empty(t, h.pods())
	h.secrets.seal(false)
	h.record.awaitPhase(t, action, 1, state.Succeeded)
}
