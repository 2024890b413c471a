package stack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// LabelWorker marks the pods of workers.
const LabelWorker = v1.Group + "/worker"

// node plays scheduler and kubelet: every pod succeeds at once, with one write of its status. Pods that a case waits
// for are handed to it, and run until it ends them. AppNode plays those of apps. With kubelet set, it writes what a
// scheduler and a kubelet write.
type node struct {
	client  kubernetes.Interface
	Pods    cache.Indexer
	stop    func()
	ctx     context.Context //nolint:containedctx // for the informer's handlers, which get none
	working sync.WaitGroup

	mu      sync.Mutex
	kubelet bool                               // GUARDED_BY(mu)
	events  bool                               // GUARDED_BY(mu): it creates Events, too
	ready   bool                               // GUARDED_BY(mu): it tells that pods are ready, and at which address
	seen    map[types.UID]bool                 // GUARDED_BY(mu): not yet gone
	started int                                // GUARDED_BY(mu)
	wanted  map[ident.Action]chan<- Appearance // GUARDED_BY(mu)
	held    []*corev1.Pod                      // GUARDED_BY(mu): they run until Release
}

// Appearance is a pod that was waited for.
type Appearance struct {
	Pod *corev1.Pod
	At  time.Time
}

// startNode starts watching pods and waits for the first list. Its work continues after the context ends, until stop.
func startNode(ctx context.Context, client kubernetes.Interface) (*node, error) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	n := &node{client: client, ctx: running, seen: map[types.UID]bool{}, wanted: map[ident.Action]chan<- Appearance{}}
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Pods().Informer()
	n.Pods = informer.GetIndexer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    n.see,
		UpdateFunc: func(_, object any) { n.see(object) },
		DeleteFunc: n.forget,
	})
	if err != nil {
		cancel()
		return nil, err
	}
	factory.Start(running.Done())
	n.stop = func() {
		cancel()
		factory.Shutdown()
		n.working.Wait()
	}
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		n.stop()
		return nil, fmt.Errorf("the node cannot list pods: %w", ctx.Err())
	}
	return n, nil
}

// see plays a pod when it first appears. Informers repeat pods, and a pod may be seen again after a write: seen makes
// sure that each is played once.
func (n *node) see(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodPending || pod.Labels[labelAppUID] != "" {
		return
	}
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen[pod.UID] {
		return
	}
	n.seen[pod.UID] = true
	n.started++
	action := actionOf(pod)
	if wanted := n.wanted[action]; wanted != nil {
		delete(n.wanted, action)
		wanted <- Appearance{Pod: pod, At: now}
		return
	}
	play := n.End
	switch task, attempt := pod.Labels[v1.Group+"/task"], pod.Labels[v1.Group+"/attempt"]; {
	case task == retriedTask && attempt == "1":
		play = n.fail
	case task == HeldTask && (pod.Labels[labelRole] == "" || pod.Labels[labelRole] == submitter):
		play = n.hold
	case task == endlessTask, task == HeldTask, pod.Labels[LabelWorker] != "":
		play = n.Run
	case n.kubelet && n.events:
		play = func(ctx context.Context, pod *corev1.Pod) error {
			return errors.Join(n.liveLikeKubelet(ctx, pod), n.tell(ctx, pod))
		}
	case n.kubelet:
		play = n.liveLikeKubelet
	}
	n.working.Go(func() { _ = play(n.ctx, pod) }) // it fails only when the pod is gone or the node stops
}

// forget removes a pod that is gone from the list of those that are played.
func (n *node) forget(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	if pod, ok := object.(*corev1.Pod); ok {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.seen, pod.UID)
	}
}

// Want keeps the pod of an action running, and reports its appearance. It must be called before the action is created.
func (n *node) Want(action ident.Action) <-chan Appearance {
	told := make(chan Appearance, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wanted[action] = told
	return told
}

// LikeKubelet makes the node write as much as a scheduler and a kubelet do, for pods that it sees from now on.
func (n *node) LikeKubelet() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kubelet = true
}

// TellReady makes the node tell that the pods that run are ready, and at which address, or no longer.
func (n *node) TellReady(ready bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ready = ready
}

// TellEvents makes the node create the Events of a scheduler and a kubelet, too, where LikeKubelet is in force.
func (n *node) TellEvents() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = true
}

// StartedPods is how many pods the node has ever seen.
func (n *node) StartedPods() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.started
}

// Drained waits until only this many pods are left.
func (n *node) Drained(ctx context.Context, but int) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		left := len(n.Pods.ListKeys())
		if left <= but {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d pods are left over: %w; there are %s", left-but, ctx.Err(), strings.Join(n.described(), ", "))
		case <-tick.C:
		}
	}
}

// described says of each pod what may explain that it is still there.
func (n *node) described() (pods []string) {
	for _, object := range n.Pods.List() {
		if pod, ok := object.(*corev1.Pod); ok {
			pods = append(pods, fmt.Sprintf("%s (%s since %s, deleted %v, labels %v)",
				pod.Name, pod.Status.Phase, pod.CreationTimestamp.Format(time.TimeOnly), pod.DeletionTimestamp, pod.Labels))
		}
	}
	return pods
}

// Run reports that a pod's process has started.
func (n *node) Run(ctx context.Context, pod *corev1.Pod) error {
	return n.write(ctx, pod, corev1.PodRunning, func(now metav1.Time) corev1.ContainerState {
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	})
}

// hold lets a pod run until Release.
func (n *node) hold(ctx context.Context, pod *corev1.Pod) error {
	if err := n.Run(ctx, pod); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held = append(n.held, pod)
	return nil
}

// Held is how many pods run until Release.
func (n *node) Held() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.held)
}

// Release ends the pods of HeldTask.
func (n *node) Release(ctx context.Context) error {
	n.mu.Lock()
	held := n.held
	n.held = nil
	n.mu.Unlock()
	_, err := Each(len(held), 32, func(i int) *corev1.Pod { return held[i] }, func(pod *corev1.Pod) error { return n.End(ctx, pod) })
	return err
}

// End reports that a pod's process has succeeded.
func (n *node) End(ctx context.Context, pod *corev1.Pod) error {
	return n.write(ctx, pod, corev1.PodSucceeded, func(now metav1.Time) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: now, FinishedAt: now}}
	})
}

// fail reports that a pod's process has failed by itself.
func (n *node) fail(ctx context.Context, pod *corev1.Pod) error {
	return n.write(ctx, pod, corev1.PodFailed, func(now metav1.Time) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: "Error", ExitCode: 1, Message: "the first attempt fails", StartedAt: now, FinishedAt: now,
		}}
	})
}

// write replaces a pod's status in the cheapest form that the API server accepts, so that the node costs little.
func (n *node) write(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase, state func(metav1.Time) corev1.ContainerState) error {
	n.mu.Lock()
	ready := n.ready && phase == corev1.PodRunning
	n.mu.Unlock()
	now := metav1.Now()
	pod = pod.DeepCopy()
	pod.Status = corev1.PodStatus{
		Phase: phase, StartTime: &now,
		Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now}},
	}
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, State: state(now), Ready: ready,
		})
	}
	if ready {
		pod.Status.PodIP, pod.Status.PodIPs = headAddress, []corev1.PodIP{{IP: headAddress}}
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	pod.ResourceVersion = "" // whatever it is by now
	_, err := n.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

// actionOf names the action of a pod by its labels.
func actionOf(pod *corev1.Pod) ident.Action {
	return ident.Action{
		Run: ident.Run{
			Project: pod.Labels[v1.LabelProject], Domain: pod.Labels[v1.LabelDomain], Name: pod.Labels[v1.LabelRun],
		},
		Name: pod.Labels[v1.LabelAction],
	}
}
