package node

import (
	"net"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// TestReplicasThatStartTogetherGetPortsOfTheirOwn: none of them listens yet when the next one gets its port.
func TestReplicasThatStartTogetherGetPortsOfTheirOwn(t *testing.T) {
	const replicas = 50
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, declared, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	n := &Node{cfg: Config{DataDir: t.TempDir()}, clk: clock.System{}, log: zerolog.Nop(), workers: map[types.UID]*worker{}, had: map[string]string{}}
	for i := range replicas {
		uid := types.UID(strconv.Itoa(i))
		w := newWorker(n, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{UID: uid, Annotations: map[string]string{annotationTakesPort: "app", annotationFixedPort: declared}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}},
		})
		require.NoError(t, os.MkdirAll(w.dir, 0o700))
		n.workers[uid] = w
	}
	var mu sync.Mutex
	ports := map[string]int{}
	var errs []error
	var starting sync.WaitGroup
	for _, w := range n.workers {
		starting.Go(func() {
			started, err := w.withPort(t.Context(), w.pod(), w.containers[0])
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			ports[started.spec.Env[0].Value]++
		})
	}
	starting.Wait()
	require.Empty(t, errs)
	require.Len(t, ports, replicas)
}

func TestThePortThatAProbeMeans(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "uid", Annotations: map[string]string{}}, Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "main", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "metrics", ContainerPort: 9000}}}, {Name: "other"},
	}}}
	w := newWorker(&Node{clk: clock.System{}, cfg: Config{DataDir: t.TempDir()}}, pod)
	main, other := w.containers[0], w.containers[1]
	require.EqualValues(t, 8080, w.portOf(main, intstr.FromString("http")))
	require.EqualValues(t, 8080, w.portOf(main, intstr.FromInt32(8080)))

	pod.Annotations[annotationTakesPort], pod.Annotations[annotationFixedPort] = "main", "8080"
	require.EqualValues(t, 8080, w.portOf(main, intstr.FromString("http")), "it was given none yet")
	pod.Annotations[annotationPort] = "31000" // by the node before
	require.EqualValues(t, 31000, w.portOf(main, intstr.FromString("http")))
	w.port = "32000"
	require.EqualValues(t, 32000, w.portOf(main, intstr.FromString("http")))
	require.EqualValues(t, 32000, w.portOf(main, intstr.FromInt32(8080)))
	require.EqualValues(t, 9000, w.portOf(main, intstr.FromString("metrics")))
	require.EqualValues(t, 8080, w.portOf(other, intstr.FromInt32(8080)), "another container has its own")
}
