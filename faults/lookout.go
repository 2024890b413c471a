package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/faults/stack"
)

// lookout watches the pods during a storm, with eyes of its own.
type lookout struct {
	stack *stack.Stack
	done  chan struct{}
	stop  context.CancelFunc

	mu      sync.Mutex
	clashes map[string]bool      // GUARDED_BY(mu)
	alive   map[string]time.Time // GUARDED_BY(mu): when an action last had a live pod, by "run/action"
}

// attemptLabel is the executor's, on pods.
const attemptLabel = "flyte.org/attempt"

func lookOut(s *stack.Stack) *lookout {
	ctx, cancel := context.WithCancel(context.Background())
	l := &lookout{stack: s, done: make(chan struct{}), stop: cancel, clashes: map[string]bool{}, alive: map[string]time.Time{}}
	go func() {
		defer close(l.done)
		for sleep(ctx, 250*time.Millisecond) {
			l.look(ctx)
		}
	}()
	return l
}

func (l *lookout) close() {
	l.stop()
	<-l.done
}

func (l *lookout) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	pods, err := l.stack.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return // Who cannot see says nothing.
	}
	now := time.Now()
	living := map[string]string{}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !live(pod) {
			continue
		}
		l.alive[pod.Labels[v1.LabelRun]+"/"+pod.Labels[v1.LabelAction]] = now
		key := pod.Labels[v1.LabelUID] + "/" + pod.Labels[attemptLabel]
		if other, clash := living[key]; clash {
			l.clashes[fmt.Sprintf("pods %s and %s of one attempt live together", other, pod.Name)] = true
		}
		living[key] = pod.Name
	}
}

func live(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

func (l *lookout) lastAlive(run, action string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.alive[run+"/"+action]
}

func (l *lookout) found() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for clash := range l.clashes {
		all = append(all, clash)
	}
	return all
}
