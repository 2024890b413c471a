package node

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/demo/environments"
)

func TestPodsThatHaveNotEndedUseTheirImages(t *testing.T) {
	tag := func(of string) string { return strings.Repeat(of, 32) }
	n := &Node{workers: map[types.UID]*worker{}}
	for image, phase := range map[string]corev1.PodPhase{
		"r/image:" + tag("a"): corev1.PodRunning, "image:" + tag("b"): corev1.PodSucceeded, "image:" + tag("c"): corev1.PodPending,
	} {
		pod := &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
		pod.Spec.Containers = []corev1.Container{{Image: "other"}, {Image: image}}
		n.workers[types.UID(image)] = &worker{latest: pod}
	}
	require.True(t, n.uses(tag("a")))
	require.False(t, n.uses(tag("b")))
	require.True(t, n.uses(tag("c")))
	require.False(t, n.uses(tag("d")))
	key := func(project, of string) string {
		key, ok := environments.Image{Project: project, Domain: "d", Name: "image:" + tag(of)}.Key()
		require.True(t, ok)
		return key
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "image:" + tag("e")}}}}
	pod.Labels = map[string]string{"flyte.org/project": "p", "flyte.org/domain": "d"}
	n.workers["of a project"] = &worker{latest: pod}
	require.True(t, n.uses(key("p", "e")))
	require.False(t, n.uses(key("q", "e")), "another project's")
}
