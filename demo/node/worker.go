package node

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// worker runs the life cycle of one pod.
type worker struct {
	n   *Node
	uid types.UID
	dir string
	log zerolog.Logger

	stopped chan struct{} // closed when the pod is to end before its time
	hurry   chan struct{} // the time until processes are killed has become shorter
	ended   chan struct{} // closed when no container runs or will run
	deleted chan struct{} // closed when the pod is being deleted
	gone    chan struct{} // closed when the pod has left the API
	leave   chan struct{} // closed when the node ends
	dirty   chan struct{} // the status has changed
	decided chan struct{} // closed when the status is final

	prepare sync.Mutex        // held while volumes are made and devices are noted
	volumes map[string]string // GUARDED_BY(prepare): by name, nil before they are made

	mu         sync.Mutex
	latest     *corev1.Pod                                     // GUARDED_BY(mu)
	stop       *stopRequest                                    // GUARDED_BY(mu)
	killed     bool                                            // GUARDED_BY(mu): processes that start now are killed
	containers []*container                                    // the slice is fixed; init containers first
	started    metav1.Time                                     // GUARDED_BY(mu)
	port       string                                          // GUARDED_BY(mu): that its program was given; empty for none
	initDone   bool                                            // GUARDED_BY(mu)
	verdict    *verdict                                        // GUARDED_BY(mu)
	conditions map[corev1.PodConditionType]corev1.PodCondition // GUARDED_BY(mu): as last built
}

func newWorker(n *Node, pod *corev1.Pod) *worker {
	w := &worker{
		n: n, uid: pod.UID, dir: filepath.Join(n.podsDir(), string(pod.UID)), latest: pod,
		log:     n.log.With().Str("pod", pod.Namespace+"/"+pod.Name).Logger(),
		stopped: make(chan struct{}), hurry: make(chan struct{}, 1), ended: make(chan struct{}), deleted: make(chan struct{}),
		gone: make(chan struct{}), leave: make(chan struct{}), dirty: make(chan struct{}, 1), decided: make(chan struct{}),
		conditions: map[corev1.PodConditionType]corev1.PodCondition{}, started: metav1.NewTime(n.clk.Now()),
	}
	if pod.Status.StartTime != nil {
		w.started = *pod.Status.StartTime
	}
	for _, condition := range pod.Status.Conditions {
		w.conditions[condition.Type] = condition
	}
	w.containers = containersOf(w, pod)
	return w
}

// pod is the pod as the API has it.
func (w *worker) pod() *corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.latest
}

// observe handles a change of the pod.
func (w *worker) observe(pod *corev1.Pod) {
	w.mu.Lock()
	w.latest = pod
	w.mu.Unlock()
	if pod.DeletionTimestamp == nil {
		return
	}
	if !closed(w.deleted) { // only the informer's goroutine closes it
		close(w.deleted)
	}
	var grace time.Duration
	if seconds := pod.DeletionGracePeriodSeconds; seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	w.requestStop(stopDeleted, grace)
}

// vanish handles the removal of the pod from the API, which may have been forced.
func (w *worker) vanish() {
	close(w.gone)
	w.requestStop(stopDeleted, 0)
}

// letGo stops the wait of an ended pod's worker for its deletion.
func (w *worker) letGo() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !closed(w.leave) {
		close(w.leave)
	}
}

// run runs the whole life cycle.
func (w *worker) run() {
	ctx := w.n.ctx
	if terminal(w.pod()) {
		w.recall()
		close(w.ended)
	} else {
		var reports sync.WaitGroup
		reports.Go(func() { w.report(ctx) })
		w.live(ctx)
		close(w.ended)
		if ctx.Err() == nil {
			w.n.binder.release(w.uid)
			w.decide()
		}
		reports.Wait()
	}
	if ctx.Err() != nil {
		return // the processes keep running, and keep what they use
	}
	w.n.freeDevices(string(w.uid))
	if err := w.n.volumes.Remove(w.pod()); err != nil {
		w.log.Warn().Err(err).Msg("cannot remove volumes in memory")
	}
	w.part(ctx)
}

// part waits until the pod leaves the API, which it does only when the node lets it, and removes its files.
func (w *worker) part(ctx context.Context) {
	select {
	case <-w.gone:
	case <-w.deleted:
		if !closed(w.gone) {
			w.remove(ctx)
		}
		select {
		case <-w.gone:
		case <-w.leave:
			return
		case <-ctx.Done():
			return
		}
	case <-w.leave:
		return
	case <-ctx.Done():
		return
	}
	if err := w.n.free(w.dir); err != nil {
		w.log.Warn().Err(err).Msg("cannot remove the files of a pod")
	}
}

// remove deletes the pod for good: the API server has only marked it and waits for the node.
func (w *worker) remove(ctx context.Context) {
	pod := w.pod()
	now := int64(0)
	for pause := retryPause(0); ; pause = retryPause(pause) {
		err := w.n.write(ctx, w.gone, func(ctx context.Context) error {
			return w.n.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
				GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID},
			})
		})
		if err == nil || apierrors.IsNotFound(err) || ctx.Err() != nil {
			return
		}
		w.complain(err, "deleting a pod failed; retrying")
		if !w.n.after(pause, w.gone) {
			return
		}
	}
}

// retryPause grows from 100ms to 5s.
func retryPause(last time.Duration) time.Duration {
	return min(max(100*time.Millisecond, 2*last), 5*time.Second)
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
