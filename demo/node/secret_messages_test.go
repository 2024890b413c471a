package node_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNoMessageOfAContainerHasASecret: whatever was expanded from a secret and makes a container fail, neither the status of the
// pod, which is stored in etcd, nor an event has the value.
func TestNoMessageOfAContainerHasASecret(t *testing.T) {
	const value, beginning = "v4lue-of-a-secret/../../part", "v4lue"
	b := setup(t)
	_, err := b.client.CoreV1().Secrets(b.namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "hidden"}, Data: map[string][]byte{"key": []byte(value)},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		change func(*corev1.Container)
		words  string
	}{
		"command":             {func(c *corev1.Container) { c.Command = []string{"$(S)"} }, `the command "$(S)" of image "test"`},
		"command, as a path":  {func(c *corev1.Container) { c.Command = []string{"/$(S)/x"} }, `the command "/$(S)/x" of image "test"`},
		"command, below work": {func(c *corev1.Container) { c.Command = []string{"./$(S)"} }, `the command "./$(S)"`},
		"argument in its place": {func(c *corev1.Container) {
			c.Command, c.Args = nil, []string{"$(S)"}
		}, `the command "$(S)"`},
		"variable of a variable": {func(c *corev1.Container) {
			c.Env, c.Command = append(c.Env, corev1.EnvVar{Name: "OTHER", Value: "x$(S)y"}), []string{"$(OTHER)"}
		}, `the command "$(OTHER)"`},
		"PATH": {func(c *corev1.Container) {
			c.Env, c.Command = append(c.Env, corev1.EnvVar{Name: "PATH", ValueFrom: secretKey()}), []string{"no-such-command"}
		}, "in the directories of its PATH"},
		"place in a volume": {func(c *corev1.Container) {
			c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/mnt/flyte-test", SubPathExpr: "$(S)"}}
		}, `the path "$(S)"`},
		"end of the log": {func(c *corev1.Container) {
			c.Command, c.TerminationMessagePolicy = []string{"sh", "-c", `echo "got $S"; exit 3`}, corev1.TerminationMessageFallbackToLogsOnError
		}, "got [secret key]"},
		"message of its own": {func(c *corev1.Container) {
			c.TerminationMessagePath = "/dev/termination-log"
			c.Command = []string{"sh", "-c", `printf "said %s" "$S" > /dev/termination-log; exit 3`}
		}, "said [secret key]"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := b.shell("exit 0", func(p *corev1.Pod) {
				p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "S", ValueFrom: secretKey()}}
				p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
				tc.change(&p.Spec.Containers[0])
			})
			ended := b.run(t, pod)
			require.Equal(t, corev1.PodFailed, ended.Status.Phase)
			status, err := json.Marshal(ended)
			require.NoError(t, err)
			require.NotContains(t, string(status), beginning)
			require.Contains(t, ended.Status.ContainerStatuses[0].State.Terminated.Message, tc.words)
		})
	}
	events, err := b.client.CoreV1().Events(b.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	body, err := json.Marshal(events)
	require.NoError(t, err)
	require.NotContains(t, string(body), beginning)
}
