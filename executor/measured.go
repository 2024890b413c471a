package executor

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/measure"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// caches are those of the managers that run, by shard. The zero value has none.
type caches struct {
	mu      sync.Mutex
	byShard map[int]client.Reader // GUARDED_BY(mu)
}

// set notes the cache of a shard; nil means that its manager has stopped.
func (c *caches) set(shard int, one client.Reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byShard == nil {
		c.byShard = map[int]client.Reader{}
	}
	c.byShard[shard] = one
	if one == nil {
		delete(c.byShard, shard)
	}
}

func (c *caches) all() []client.Reader {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.byShard))
}

func (s *Service) newMeter() (*measure.Meter, error) {
	return measure.New(s.config.Measure, measure.Deps{
		Running: s.running, Source: s.deps.Nodes, Cluster: s.clientset.CoreV1().RESTClient(), Namespaces: s.config.Namespaces,
		Get: func(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
			return s.clientset.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		},
		Recorder: s.deps.Usage, Clock: s.deps.Clock, Logger: s.deps.Logger, Meter: s.deps.Meter,
	})
}

// running lists the pods of attempts that run now, in the shards of this replica. It reads them where the cache has them, since it is called
// every few seconds, and changes nothing.
func (s *Service) running(ctx context.Context) (all []measure.Pod) {
	for _, cache := range s.caches.all() {
		var pods corev1.PodList
		if err := cache.List(ctx, &pods, client.UnsafeDisableDeepCopy); err != nil {
			continue // it is starting or ending
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			attempt, ours := attemptOf(pod)
			if ours && pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName != "" {
				all = append(all, measure.Pod{
					Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID), Node: pod.Spec.NodeName, Attempt: attempt,
				})
			}
		}
	}
	return all
}

// attemptOf is the attempt that a pod runs; false for other pods.
func attemptOf(pod *corev1.Pod) (attempt measure.Attempt, ours bool) {
	uid, err := strconv.ParseInt(pod.Labels[v1.LabelUID], 10, 64)
	if err != nil {
		return attempt, false
	}
	number, err := strconv.ParseUint(pod.Labels[podspec.LabelAttempt], 10, 31)
	if err != nil || number == 0 {
		return attempt, false
	}
	return measure.Attempt{UID: uid, Number: uint32(number)}, true
}
