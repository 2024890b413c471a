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
	"k8s.io/apimachinery/pkg/watch"
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
// server, whose informers do not see them.
func (s *Stack) BarePods(ctx context.Context, sample *corev1.Pod, n, concurrency int) (Bare, error) {
	pods := s.Cluster.Client.CoreV1().Pods(sample.Namespace)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.barePods++
	series := fmt.Sprint("bare-", s.barePods)
	ended, err := pods.Watch(ctx, metav1.ListOptions{LabelSelector: labelBare + "=" + series})
	if err != nil {
		return Bare{}, err
	}
	defer ended.Stop()
	before, err := s.Usage()
	if err != nil {
		return Bare{}, err
	}

	began := time.Now()
	var deleting sync.WaitGroup
	var last time.Time
	failures := make(chan error, n+1)
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		left := map[string]bool{}
		for len(left) < n {
			event, more := <-ended.ResultChan()
			pod, _ := event.Object.(*corev1.Pod)
			if !more || pod == nil {
				failures <- fmt.Errorf("the watch of bare pods ended after %d of %d", len(left), n)
				return
			}
			if event.Type == watch.Deleted || pod.Status.Phase != corev1.PodSucceeded || left[pod.Name] {
				continue
			}
			left[pod.Name] = true
			deleting.Go(func() {
				now := int64(0)
				failures <- pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
			})
		}
		last = time.Now()
	}()
	_, err = Each(n, concurrency, func(i int) *corev1.Pod { return bare(sample, fmt.Sprintf("%s-%d", series, i), series) }, func(pod *corev1.Pod) error {
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return Bare{}, err
	}
	<-seen
	deleting.Wait()
	close(failures)
	for failure := range failures {
		err = errors.Join(err, failure)
	}
	if err != nil {
		return Bare{}, err
	}
	used, err := s.Usage()
	if err != nil {
		return Bare{}, err
	}
	return Bare{Pods: n, During: last.Sub(began), CPU: used.Since(before).CPU}, nil
}

// bare is a new pod with the specification of another, and with as many labels and annotations.
func bare(of *corev1.Pod, name, series string) *corev1.Pod {
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
	pod.Spec.NodeName = ""
	return pod
}
