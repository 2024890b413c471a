package node

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/demo/node/capacity"
)

// binder is the scheduler: it binds waiting pods that fit, in order of priority and then of age. A pod that does not fit
// does not block smaller ones.
type binder struct {
	n     *Node
	wake  chan struct{}
	calls chan struct{} // one element for each call in flight
	idle  capacity.Idleness

	mu      sync.Mutex
	seq     uint64                   // GUARDED_BY(mu)
	waiting map[types.UID]*candidate // GUARDED_BY(mu)
	queue   []*candidate             // GUARDED_BY(mu): in order; may contain removed ones
	claims  map[types.UID]claim      // GUARDED_BY(mu): of pods that are bound or about to be
	used    corev1.ResourceList      // GUARDED_BY(mu): sum of claims
	ended   map[types.UID]struct{}   // GUARDED_BY(mu): released, although the API may not know yet
}

// candidate is a waiting pod.
type candidate struct {
	pod     *corev1.Pod
	request corev1.ResourceList
	seq     uint64 // order of arrival: creation times count whole seconds only
	since   time.Time
	gone    bool
	told    explanation // the last one that was written
}

// maxBindings is how many pods are bound at a time.
const maxBindings = 8

func newBinder(n *Node) *binder {
	return &binder{
		n: n, wake: make(chan struct{}, 1), calls: make(chan struct{}, maxBindings), waiting: map[types.UID]*candidate{},
		claims: map[types.UID]claim{}, used: corev1.ResourceList{}, ended: map[types.UID]struct{}{},
		idle: capacity.Idleness{Cpus: n.cfg.CPUs, Clk: n.clk},
	}
}

// enqueue takes a pod without a node.
func (b *binder) enqueue(pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil || len(pod.Spec.SchedulingGates) > 0 {
		b.remove(pod.UID)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if known := b.waiting[pod.UID]; known != nil {
		known.pod, known.request = pod, capacity.Request(pod)
		return
	}
	if _, claimed := b.claims[pod.UID]; claimed {
		return // being bound
	}
	b.seq++
	c := &candidate{pod: pod, request: capacity.Request(pod), seq: b.seq, since: b.n.clk.Now()}
	b.waiting[pod.UID] = c
	b.insert(c)
	b.signal()
}

// insert puts a candidate in its place. Called with the lock held.
func (b *binder) insert(c *candidate) {
	at, _ := slices.BinarySearchFunc(b.queue, c, before)
	b.queue = slices.Insert(b.queue, at, c)
}

// before orders candidates.
func before(x, y *candidate) int {
	if px, py := priority(x.pod), priority(y.pod); px != py {
		return int(py) - int(px)
	}
	if c := x.pod.CreationTimestamp.Compare(y.pod.CreationTimestamp.Time); c != 0 {
		return c
	}
	return int(x.seq) - int(y.seq) //nolint:gosec // small
}

func priority(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// remove drops a pod that no longer waits.
func (b *binder) remove(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.waiting[uid]; c != nil {
		c.gone = true
		delete(b.waiting, uid)
	}
}

// claim counts the requests of a pod that is bound to the node, by any scheduler. A pod that has ended claims nothing.
func (b *binder) claim(pod *corev1.Pod) {
	b.remove(pod.UID)
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ended := b.ended[pod.UID]; !ended {
		request := capacity.Request(pod)
		b.takeDevices(pod, request) // if others have them, the pod's containers wait
		b.take(pod, request)
	}
}

// takeDevices gives a pod the devices that it requests, unless too few are free.
func (b *binder) takeDevices(pod *corev1.Pod, request corev1.ResourceList) bool {
	return b.n.devices.Take(string(pod.UID), ownerOf(pod), b.n.cfg.wishes(pod, request)...)
}

func (b *binder) take(pod *corev1.Pod, what corev1.ResourceList) {
	if _, claimed := b.claims[pod.UID]; !claimed {
		b.claims[pod.UID] = claim{what: what, by: ownerOf(pod)}
		capacity.Add(b.used, what)
	}
}

// release frees what a pod claimed. It is called when the processes of a pod have ended, and again when the pod is
// gone from the API.
func (b *binder) release(uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if held, claimed := b.claims[uid]; claimed {
		delete(b.claims, uid)
		capacity.Subtract(b.used, held.what)
		b.ended[uid] = struct{}{}
		b.signal()
		return
	}
	delete(b.ended, uid)
}

// letGo frees what was taken for a pod that was not bound.
func (b *binder) letGo(uid types.UID) {
	// Twice: the first call ends the claim, the second forgets that the pod has ended.
	b.release(uid)
	b.release(uid)
	b.n.freeDevices(string(uid))
}

func (b *binder) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// run binds pods until the node stops.
func (b *binder) run() {
	tick := b.n.cfg.Relief
	if tick <= 0 {
		tick = time.Second
	}
	timer := b.n.clk.NewTimer(tick)
	defer timer.Stop()
	for {
		select {
		case <-b.n.ctx.Done():
			return
		case <-b.wake:
			b.bindAll(false)
		case <-timer.C():
			b.bindAll(true)
			timer.Reset(tick)
		}
	}
}

// bindAll binds what fits. On ticks it also resolves deadlocks and explains why pods wait.
func (b *binder) bindAll(tick bool) {
	bored := tick && b.idle.Look(b.n.launcher.Cgroups) && b.n.cfg.Relief > 0
	var chosen []*candidate
	var explain []*candidate
	b.mu.Lock()
	rest := b.queue[:0]
	for i, c := range b.queue {
		if c.gone {
			continue
		}
		if b.used.Pods().Cmp(*b.n.capacity.Pods()) >= 0 && !tick {
			rest = append(rest, b.queue[i:]...) // nothing fits
			break
		}
		why := b.why(c)
		if why.only(corev1.ResourceCPU, corev1.ResourceMemory) && bored && !why.never && enoughMemory(c.request) {
			bored, why = false, reasons{}
		}
		if why.none() && b.takeDevices(c.pod, c.request) {
			c.gone = true
			delete(b.waiting, c.pod.UID)
			b.take(c.pod, c.request)
			chosen = append(chosen, c)
			continue
		}
		if tick && (why.never || b.n.clk.Now().Sub(c.since) >= b.n.cfg.UnschedulableAfter) && b.retell(c, why, len(rest)) {
			explain = append(explain, c)
		}
		rest = append(rest, c)
	}
	clear(b.queue[len(rest):])
	b.queue = rest
	b.mu.Unlock()
	for _, c := range chosen {
		b.async(func() { b.bind(c) })
	}
	for _, c := range explain {
		text := c.told.text
		b.async(func() { b.explain(c.pod, text) })
	}
}

// async calls the API in the background, a few calls at a time.
func (b *binder) async(call func()) {
	select {
	case b.calls <- struct{}{}:
	case <-b.n.ctx.Done():
		return
	}
	b.n.loops.Go(func() {
		defer func() { <-b.calls }()
		call()
	})
}

// bind binds the pod to the node.
func (b *binder) bind(c *candidate) {
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.pod.Namespace, Name: c.pod.Name, UID: c.pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: b.n.cfg.Name},
	}
	err := b.n.write(b.n.ctx, nil, func(ctx context.Context) error {
		return b.n.client.CoreV1().Pods(c.pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	})
	switch {
	case err == nil:
		return
	case apierrors.IsNotFound(err):
		b.letGo(c.pod.UID)
	case b.n.ctx.Err() == nil:
		b.n.log.Warn().Err(err).Str("pod", c.pod.Namespace+"/"+c.pod.Name).Msg("binding a pod failed; retrying")
		b.again(c)
	}
}

// bindRetry is the pause after a call that failed.
const bindRetry = time.Second

func (b *binder) again(c *candidate) {
	if !b.n.after(bindRetry) {
		return
	}
	b.letGo(c.pod.UID)
	fresh, err := b.n.client.CoreV1().Pods(c.pod.Namespace).Get(context.WithoutCancel(b.n.ctx), c.pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		b.enqueue(c.pod)
	case fresh.UID != c.pod.UID:
	case fresh.Spec.NodeName == "":
		b.enqueue(fresh)
	case fresh.Spec.NodeName == b.n.cfg.Name && !terminal(fresh):
		b.claim(fresh) // the call had succeeded after all
	}
}
