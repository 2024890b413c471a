package node_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// rawPod has the shape of a raw container's pod: a sidecar that listens first, a download that waits for it, and a container
// between two directories that ends at once.
func (b *bundle) rawPod(root, result string) *corev1.Pod {
	mount := func(name string) corev1.VolumeMount {
		return corev1.VolumeMount{Name: name, MountPath: root + "/" + name}
	}
	step := func(name, script string, volumes ...string) corev1.Container {
		c := corev1.Container{Name: name, Image: "test", Command: []string{"sh", "-ec", script}}
		for _, volume := range volumes {
			c.VolumeMounts = append(c.VolumeMounts, mount(volume))
		}
		return c
	}
	return b.shell("", func(p *corev1.Pod) {
		for _, name := range []string{"inputs", "outputs", "stage"} {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		}
		sidecar := step("uploader", "trap 'cp "+root+"/outputs/x "+result+"; exit 0' TERM; touch "+root+"/stage/up; while :; do sleep 0.02; done", "outputs", "stage")
		sidecar.RestartPolicy = ptr(corev1.ContainerRestartPolicyAlways)
		p.Spec.InitContainers = []corev1.Container{
			sidecar, step("downloader", "echo 41 >"+root+"/inputs/x; while [ ! -e "+root+"/stage/up ]; do sleep 0.01; done", "inputs", "stage"),
		}
		p.Spec.Containers = []corev1.Container{step("primary", "echo $(($(cat "+root+"/inputs/x) + 1)) >"+root+"/outputs/x", "inputs", "outputs")}
	})
}

func TestAContainerBetweenTwoDirectories(t *testing.T) {
	for name, portable := range map[string]bool{"by namespace": false, "portable": true} {
		t.Run(name, func(t *testing.T) {
			if !portable && os.Geteuid() != 0 {
				t.Skip("mount namespaces need root")
			}
			b := setup(t, func(c *nodeConfig) { c.PortableMounts = portable })
			root, results := t.TempDir(), t.TempDir()
			var pods []*corev1.Pod
			for _, me := range []string{"a", "b"} { // at the same time, with the same paths
				pods = append(pods, b.create(t, b.rawPod(root, filepath.Join(results, me))))
			}
			for i, me := range []string{"a", "b"} {
				require.Equal(t, corev1.PodSucceeded, b.ended(t, pods[i]).Status.Phase)
				require.Equal(t, "42", content(t, filepath.Join(results, me)), "the sidecar has seen the end")
			}
			entries, err := os.ReadDir(root)
			require.NoError(t, err)
			require.Empty(t, entries, "nothing of the paths is left on the machine")
		})
	}
}

func TestTheOwnImageIsThisBinary(t *testing.T) {
	b := setup(t, func(c *nodeConfig) { c.OwnImage = "flyte-binary" })
	own := b.run(t, b.shell("", func(p *corev1.Pod) {
		p.Spec.Containers[0].Image = "flyte-binary"
		p.Spec.Containers[0].Command = []string{"flyte-binary", "-test.list=^TestTheOwnImageIsThisBinary$"}
	}))
	require.Equal(t, corev1.PodSucceeded, own.Status.Phase)
	require.Contains(t, b.logs(t, own, &corev1.PodLogOptions{}), "TestTheOwnImageIsThisBinary")
	other := b.run(t, b.shell("", func(p *corev1.Pod) {
		p.Spec.Containers[0].Image = "another"
		p.Spec.Containers[0].Command = []string{"flyte-binary"}
	}))
	require.Equal(t, "StartError", terminated(other).Reason)
}
