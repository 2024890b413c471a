package node_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkShortPods is the rate of pods that do nothing, from their creation to their end seen by a watch. API server and
// store share the machine.
func BenchmarkShortPods(b *testing.B) {
	s := setup(b, func(c *nodeConfig) { c.CPUs, c.Pods = 1000, 100 })
	watch, err := s.client.CoreV1().Pods(s.namespace).Watch(b.Context(), metav1.ListOptions{})
	require.NoError(b, err)
	defer watch.Stop()
	b.ResetTimer()
	slots := make(chan struct{}, 64) // in flight
	go func() {
		for i := range b.N {
			slots <- struct{}{}
			pod := s.shell("")
			pod.Name = fmt.Sprintf("b%d", i)
			pod.Spec.Containers[0].Command = []string{"true"}
			go func() { _, _ = s.client.CoreV1().Pods(s.namespace).Create(b.Context(), pod, metav1.CreateOptions{}) }()
		}
	}()
	done := map[string]bool{}
	for event := range watch.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if ok && pod.Status.Phase == corev1.PodSucceeded && !done[pod.Name] {
			done[pod.Name] = true
			<-slots
		}
		if len(done) == b.N {
			break
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pods/s")
}
