package podnet_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/demo/node/podnet"
)

func TestHosts(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p-x", Annotations: map[string]string{podnet.AnnotationAddress: "127.77.0.2"}},
		Spec: corev1.PodSpec{Hostname: "p", HostAliases: []corev1.HostAlias{
			{IP: "127.77.0.3", Hostnames: []string{"q", "q.s"}},
		}},
	}
	machine := "127.0.0.1 localhost\n127.0.1.1 laptop other\n192.168.0.9 laptop\n# laptop"
	require.Equal(t, "# Names of a pod. [local node]\n127.77.0.2\tp p-x laptop\n127.77.0.3\tq q.s\n127.0.0.1 localhost\n127.0.1.1 other\n# laptop",
		string(podnet.Hosts(pod, "127.0.0.1", "laptop", []byte(machine))))
	require.Equal(t, []string{"127.64.0.0/11", "127.77.0.2", "127.77.0.3", "q", "q.s"}, podnet.Direct(pod))

	// torchrun tells its first name to the other pods, which do not know the bare one.
	pod.Namespace, pod.Spec.Subdomain = "n", "s"
	require.Contains(t, string(podnet.Hosts(pod, "127.0.0.1", "laptop", nil)), "127.77.0.2\tp.s.n.svc.cluster.local p p-x laptop\n")

	for _, none := range []string{"", "10.0.0.1", "127.0.0.1", "x"} {
		pod.Annotations[podnet.AnnotationAddress] = none
		require.Equal(t, "127.0.0.1", podnet.IP(pod, "127.0.0.1"), none)
		require.Equal(t, "# Names of a pod. [local node]\n127.0.0.1\tp-x\n127.77.0.3\tq q.s\n"+machine,
			string(podnet.Hosts(pod, "127.0.0.1", "laptop", []byte(machine))))
	}
}
