package podsecret_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/pods/podsecret"
)

func ref(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }

func spec() *corev1.PodSpec {
	return &corev1.PodSpec{
		InitContainers: []corev1.Container{{EnvFrom: []corev1.EnvFromSource{
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: ref("all")}},
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref("no-secret")}},
		}}},
		Containers: []corev1.Container{{Env: []corev1.EnvVar{
			{Name: "A", Value: "x"},
			{Name: "B", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref("one"), Key: "k"}}},
			{Name: "C", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref("one"), Key: "l"}}},
			{Name: "D", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		}}},
		Volumes: []corev1.Volume{
			{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "files"}}},
			{Name: "p", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{Secret: &corev1.SecretProjection{LocalObjectReference: ref("projected")}}, {ConfigMap: &corev1.ConfigMapProjection{}},
			}}}},
			{Name: "e", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		},
		ImagePullSecrets: []corev1.LocalObjectReference{ref("pull")},
	}
}

func TestSecretsOfAPod(t *testing.T) {
	want := []string{"all", "files", "one", "projected"}
	require.Equal(t, want, podsecret.Names(spec()))
	require.Equal(t, want, podsecret.Names(&corev1.PodSpec{Volumes: podsecret.Keep(spec())}), "what is kept in the cache names the same")
	require.Empty(t, podsecret.Keep(&corev1.PodSpec{}))
}

func TestValuesThatAPodWasGivenAreReplaced(t *testing.T) {
	group := schema.GroupResource{Resource: "secrets"}
	errs := map[string]error{"gone": apierrors.NewNotFound(group, "gone"), "closed": apierrors.NewForbidden(group, "closed", nil), "away": errors.New("timeout")}
	get := func(_ context.Context, namespace, name string) (*corev1.Secret, error) {
		require.Equal(t, "ns", namespace)
		if err := errs[name]; err != nil {
			return nil, err
		}
		return &corev1.Secret{Data: map[string][]byte{"key": []byte("hunter2")}}, nil
	}
	clean, err := podsecret.Cleaner(t.Context(), get, "ns", []string{"gone", "there"})
	require.NoError(t, err)
	require.Equal(t, "exec [secret key]", clean("exec hunter2"))

	clean, err = podsecret.Cleaner(t.Context(), get, "ns", []string{"there", "closed"})
	require.NoError(t, err)
	require.Equal(t, podsecret.Withheld, clean("exec hunter2"))
	require.Empty(t, clean(""))

	_, err = podsecret.Cleaner(t.Context(), get, "ns", []string{"there", "away"})
	require.ErrorContains(t, err, "Secret away")

	clean, err = podsecret.Cleaner(t.Context(), get, "ns", nil)
	require.NoError(t, err)
	require.Equal(t, "exec hunter2", clean("exec hunter2"))
}

// TestEveryMessageOfAPodIsCleaned: what a container runtime or a kubelet says has no value, wherever the status has it.
func TestEveryMessageOfAPodIsCleaned(t *testing.T) {
	const said = `exec: "hunter2": executable file not found in $PATH`
	reads := 0
	get := func(context.Context, string, string) (*corev1.Secret, error) {
		reads++
		return &corev1.Secret{Data: map[string][]byte{"key": []byte("hunter2")}}, nil
	}
	state := corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Message: said}, Terminated: &corev1.ContainerStateTerminated{Reason: "StartError", Message: said},
	}
	statuses := []corev1.ContainerStatus{{State: *state.DeepCopy(), LastTerminationState: *state.DeepCopy()}}
	pod := &corev1.Pod{Spec: *spec(), Status: corev1.PodStatus{
		Message: said, InitContainerStatuses: statuses, ContainerStatuses: statuses,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Message: said}},
	}}
	before := pod.DeepCopy()
	cleaned, err := podsecret.Clean(t.Context(), get, pod)
	require.NoError(t, err)
	require.Equal(t, before, pod, "cached objects are shared")
	require.NotContains(t, cleaned.String(), "hunter2")
	require.Equal(t, `exec: "[secret key]": executable file not found in $PATH`, cleaned.Status.ContainerStatuses[0].State.Terminated.Message)
	require.Equal(t, "x [secret key]", podsecret.CleanText(t.Context(), get, pod, "x hunter2"))

	reads = 0
	for _, silent := range []*corev1.Pod{{Spec: *spec()}, {Status: before.Status}} {
		same, err := podsecret.Clean(t.Context(), get, silent)
		require.NoError(t, err)
		require.Same(t, silent, same)
	}
	require.Zero(t, reads, "most pods cost nothing")

	away := func(context.Context, string, string) (*corev1.Secret, error) { return nil, errors.New("timeout") }
	_, err = podsecret.Clean(t.Context(), away, pod)
	require.Error(t, err, "nothing is recorded until it can be cleaned")
	require.Equal(t, podsecret.Withheld, podsecret.CleanText(t.Context(), away, pod, "x hunter2"))
}
