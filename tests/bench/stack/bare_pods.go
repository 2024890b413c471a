package stack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	v1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
)

// labelBare marks pods that the bench creates by itself.
const labelBare = "bench/bare"

// Bare is what the cluster does without the server: pods that a loop creates, and deletes when the node has ended them.
type Bare struct {
	Pods   int
	During time.Duration // from the first creation until the last end was seen
	CPU    map[string]time.Duration
}

// Rate is how many pods ended in a second.
func (b Bare) Rate() float64 { return float64(b.Pods) / b.During.Seconds() }

// And adds a second measurement.
func (b Bare) And(other Bare) Bare {
	sum := Bare{Pods: b.Pods + other.Pods, During: b.During + other.During, CPU: maps.Clone(b.CPU)}
	if sum.CPU == nil {
		sum.CPU = map[string]time.Duration{}
	}
	for name, cpu := range other.CPU {
		sum.CPU[name] += cpu
	}
	return sum
}

// BarePods runs n pods with the specification of a task's pod. It returns when none of them is left. They lack the labels of the
// server, whose informers do not see them. They have managed fields unless drop is set, which needs DropManagedFields.
func (s *Stack) BarePods(ctx context.Context, sample *corev1.Pod, n, concurrency int, drop bool) (Bare, error) {
	pods := s.Cluster.Client.CoreV1().Pods(sample.Namespace)
	s.barePods++
	series := fmt.Sprint("bare-", s.barePods)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ends := &bareEnds{ctx: ctx, pods: pods, wanted: n, seen: map[string]bool{}, all: make(chan time.Time, 1)}
	watching := informers.NewSharedInformerFactoryWithOptions(s.Cluster.Client, 0, informers.WithNamespace(sample.Namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = labelBare + "=" + series }))
	informer := watching.Core().V1().Pods().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, object any) { ends.see(object) }, AddFunc: ends.see}); err != nil {
		return Bare{}, err
	}
	watching.Start(ctx.Done())
	defer watching.Shutdown()
	defer cancel()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return Bare{}, ctx.Err()
	}
	before, err := s.Usage()
	if err != nil {
		return Bare{}, err
	}
	began := time.Now()
	_, err = Each(n, concurrency, func(i int) *corev1.Pod { return bare(sample, fmt.Sprintf("%s-%d", series, i), series, drop) }, func(pod *corev1.Pod) error {
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return Bare{}, err
	}
	var last time.Time
	select {
	case last = <-ends.all:
	case <-ctx.Done():
		return Bare{}, fmt.Errorf("not all bare pods ended: %w", ctx.Err())
	}
	ends.deleting.Wait()
	if err := errors.Join(ends.failures...); err != nil {
		return Bare{}, err
	}
	used, err := s.Usage()
	if err != nil {
		return Bare{}, err
	}
	return Bare{Pods: n, During: last.Sub(began), CPU: used.Since(before).CPU}, nil
}

// bareEnds deletes bare pods that have ended.
type bareEnds struct {
	ctx      context.Context //nolint:containedctx // for the informer's handlers, which get none
	pods     v1.PodInterface
	wanted   int
	all      chan time.Time // gets when the last of them ended
	deleting sync.WaitGroup

	mu       sync.Mutex
	seen     map[string]bool // GUARDED_BY(mu)
	failures []error         // GUARDED_BY(mu)
}

func (e *bareEnds) see(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.Status.Phase != corev1.PodSucceeded {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seen[pod.Name] {
		return
	}
	e.seen[pod.Name] = true
	e.deleting.Go(func() {
		now := int64(0)
		err := e.pods.Delete(e.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
		e.mu.Lock()
		defer e.mu.Unlock()
		e.failures = append(e.failures, err)
	})
	if len(e.seen) == e.wanted {
		e.all <- time.Now()
	}
}

// bare is a new pod with the specification of another, and with as many labels and annotations.
func bare(of *corev1.Pod, name, series string, drop bool) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: of.Namespace, Labels: map[string]string{}, Annotations: maps.Clone(of.Annotations)},
		Spec:       *of.Spec.DeepCopy(),
	}
	i := 0
	for _, value := range of.Labels {
		pod.Labels[fmt.Sprintf("bench/label-%d", i)] = value
		i++
	}
	pod.Labels[labelBare] = series
	if drop {
		pod.Labels[labelDropped] = "true"
	}
	pod.Spec.NodeName = ""
	return pod
}
