package node_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// BenchmarkShortPods is the rate of pods that do nothing, from their creation to their end seen by a watch. API server and
// store share the machine.
func BenchmarkShortPods(b *testing.B) {
	s := setup(b, func(c *nodeConfig) { c.CPUs, c.Pods = 1000, 100 })
	ended := make(chan string, b.N)
	factory := informers.NewSharedInformerFactoryWithOptions(s.client, 0, informers.WithNamespace(s.namespace))
	seen := map[string]bool{}
	look := func(object any) { // events may be merged
		if pod, ok := object.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodSucceeded && !seen[pod.Name] {
			seen[pod.Name] = true
			ended <- pod.Name
		}
	}
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: look, UpdateFunc: func(_, object any) { look(object) },
	})
	require.NoError(b, err)
	factory.StartWithContext(b.Context())
	factory.WaitForCacheSyncWithContext(b.Context())
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
	for range b.N {
		<-ended
		<-slots
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pods/s")
}
