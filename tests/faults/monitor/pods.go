// Package monitor looks at the clusters and the database again and again during a storm, past the product, and remembers what must
// never be there even for a moment.
package monitor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
)

// Pods polls the pods during a storm, independently of the server.
type Pods struct {
	stack *stack.Stack
	done  chan struct{}
	stop  context.CancelFunc

	mu       sync.Mutex
	clashes  map[string]bool           // GUARDED_BY(mu)
	overlaps map[check.Overlap]bool    // GUARDED_BY(mu)
	lives    map[check.Life]check.Span // GUARDED_BY(mu): when the pods of attempts lived
	alive    map[string]time.Time      // GUARDED_BY(mu): when an action last had a live pod or an object, by "run/action"
}

// every is the time between two looks. At Jobs and objects of operators, which are many lists, one look in objectsEvery is enough: nothing
// but how long they live is of interest.
const (
	every        = 250 * time.Millisecond
	objectsEvery = 4
)

// attemptLabel is the executor's, on pods.
const attemptLabel = "flyte.org/attempt"

// WatchPods begins to look at the pods.
func WatchPods(s *stack.Stack) *Pods {
	ctx, cancel := context.WithCancel(context.Background())
	m := &Pods{stack: s, done: make(chan struct{}), stop: cancel, clashes: map[string]bool{}, overlaps: map[check.Overlap]bool{}, lives: map[check.Life]check.Span{}, alive: map[string]time.Time{}}
	go func() {
		defer close(m.done)
		for n := 0; clock.Sleep(ctx, clock.System{}, every) == nil; n++ {
			m.look(ctx, n%objectsEvery == 0)
		}
	}()
	return m
}

// Close ends the looks.
func (m *Pods) Close() {
	m.stop()
	<-m.done
}

func (m *Pods) look(ctx context.Context, also bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var pods []corev1.Pod
	var objects []stack.Object
	var places []int // of pods: the number of the cluster
	// A pod was alive when it was asked for, at the latest, and exists when the answer is here: a look at many objects takes long on a busy
	// machine.
	var moments []check.Span // of clusters
	for n, cluster := range m.stack.Clusters() {
		asked := time.Now()
		found, err := cluster.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{ResourceVersion: stack.Recent})
		if err != nil {
			return // The API server is down; look again later.
		}
		moments = append(moments, check.Span{First: time.Now(), Last: asked})
		pods = append(pods, found.Items...)
		places = append(places, slices.Repeat([]int{n}, len(found.Items))...)
		if !also {
			continue
		}
		there, err := cluster.Objects(ctx, metav1.ListOptions{ResourceVersion: stack.Recent})
		if err != nil {
			return
		}
		objects = append(objects, there...)
	}
	now := time.Now()
	living := map[string]*corev1.Pod{}
	attempts := map[[2]int64][]int32{} // by cluster and action
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range pods {
		pod := &pods[i]
		if !live(pod) || pod.Labels[v1.LabelUID] == "" { // the pods of workers belong to no action
			continue
		}
		m.alive[pod.Labels[v1.LabelRun]+"/"+pod.Labels[v1.LabelAction]] = now
		key := pod.Labels[v1.LabelUID] + "/" + pod.Labels[attemptLabel]
		if other := living[key]; other != nil && !ofOneObject(other, pod) {
			m.clashes[fmt.Sprintf("pods %s and %s of one attempt live together", other.Name, pod.Name)] = true
		}
		living[key] = pod
		m.together(attempts, places[i], pod, moments[places[i]])
	}
	for _, object := range objects {
		if !object.Stopping { // one that is being deleted may wait for the controllers
			m.alive[object.Run+"/"+object.Action] = now
		}
	}
}

// together notes when pods live, and that pods of several attempts of an action live in one cluster. seen is when a pod first seen by this
// look began at the latest, and when one last seen by it was alive for certain.
func (m *Pods) together(attempts map[[2]int64][]int32, place int, pod *corev1.Pod, seen check.Span) {
	action, err := strconv.ParseInt(pod.Labels[v1.LabelUID], 10, 64)
	attempt, err2 := strconv.ParseInt(pod.Labels[attemptLabel], 10, 32)
	if err != nil || err2 != nil || len(m.stack.Sides) == 0 {
		return
	}
	life := check.Life{Cluster: m.stack.Sides[place].Name, Action: action, Attempt: int32(attempt)}
	span, known := m.lives[life]
	if !known {
		span.First = seen.First
	}
	span.Last = seen.Last
	m.lives[life] = span
	at := [2]int64{int64(place), action}
	for _, other := range attempts[at] {
		if other != int32(attempt) {
			m.overlaps[check.Overlap{
				Cluster: m.stack.Sides[place].Name, Action: action, Earlier: min(other, int32(attempt)), Later: max(other, int32(attempt)),
			}] = true
		}
	}
	attempts[at] = append(attempts[at], int32(attempt))
}

// Overlaps lists the attempts whose pods lived together in one cluster.
func (m *Pods) Overlaps() []check.Overlap {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.overlaps))
}

// Lives is when the pods of attempts lived in each cluster.
func (m *Pods) Lives() map[check.Life]check.Span {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.lives)
}

// ofOneObject reports whether two pods may live at the same time: an object of an operator has several.
func ofOneObject(one, other *corev1.Pod) bool {
	owner := metav1.GetControllerOf(one)
	return owner != nil && owner.Kind != v1.Kind && owner.Kind != "Job" && metav1.IsControlledBy(other, &metav1.ObjectMeta{UID: owner.UID})
}

func live(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// LastAlive is when an action last had a live pod or an object.
func (m *Pods) LastAlive(run, action string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.alive[run+"/"+action]
}

// Clashes are the moments at which two pods of one attempt were alive.
func (m *Pods) Clashes() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for clash := range m.clashes {
		all = append(all, clash)
	}
	return all
}
