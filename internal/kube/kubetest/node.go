package kubetest

import (
	"context"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// writePause is the pause after a write that failed.
const writePause = 200 * time.Millisecond

// Result is how a pod's process ended.
type Result struct {
	// Leave keeps the pod as it is; the test controls it.
	Leave bool
	// ExitCode of the process.
	ExitCode int32
	// Reason as the kubelet would give it; empty means Completed or Error.
	Reason string
	// Message is the termination message.
	Message string
}

// Program represents the process of a pod. The context ends when the pod is being deleted.
type Program func(ctx context.Context, pod *corev1.Pod) Result

// Node plays scheduler and kubelet for the pods of a namespace, without any process. It serves logs, as a kubelet does.
type Node struct {
	// Name of the node object.
	Name string

	client  kubernetes.Interface
	options NodeOptions
	kubelet *kubelet

	mu      sync.Mutex
	running map[types.UID]context.CancelFunc // GUARDED_BY(mu): every pod seen and not yet gone
	started int                              // GUARDED_BY(mu)
	work    sync.WaitGroup
}

// NodeOptions configure a node.
type NodeOptions struct {
	// Program of every pod; nil means one that ends at once with exit code 0.
	Program Program
	// SkipRunning omits the status in between, as a node does for a process that ends at once.
	SkipRunning bool
	// SkipBinding leaves the pods without a node: a write less, but no logs.
	SkipBinding bool
	// Log is what a container wrote; nil means nothing.
	Log func(pod, container string) string
	// Previous is what the run of a container before the current one wrote; nil means that there was none.
	Previous func(pod, container string) string
	// StopDelay is how long a pod takes to stop when it is deleted.
	StopDelay time.Duration
	// AllNamespaces widens the node beyond the test's namespace.
	AllNamespaces bool
}

// StartNode starts a node that ends with the test.
func StartNode(t testing.TB, cluster *Cluster, options NodeOptions) *Node {
	t.Helper()
	node := &Node{Name: "node-" + cluster.Namespace, client: cluster.Clientset, options: options, running: map[types.UID]context.CancelFunc{}}
	if node.options.Program == nil {
		node.options.Program = func(context.Context, *corev1.Pod) Result { return Result{} }
	}
	node.kubelet = startKubelet(t, options.Log, options.Previous)
	node.register(t)

	ctx, cancel := context.WithCancel(context.Background())
	namespace := cluster.Namespace
	if options.AllNamespaces {
		namespace = metav1.NamespaceAll
	}
	factory := informers.NewSharedInformerFactoryWithOptions(cluster.Clientset, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Pods().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { node.see(ctx, object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { node.see(ctx, object.(*corev1.Pod)) },
		DeleteFunc: func(object any) {
			if pod, ok := object.(*corev1.Pod); ok {
				node.forget(pod.UID)
			}
		},
	})
	require.NoError(t, err)
	factory.Start(ctx.Done())
	require.True(t, cache.WaitForCacheSync(ctx.Done(), informer.HasSynced))
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
		node.work.Wait()
	})
	return node
}

// Started is the number of pods that the node has started.
func (n *Node) Started() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.started
}

func (n *Node) register(t testing.TB) {
	host, port, err := net.SplitHostPort(n.kubelet.server.Listener.Addr().String())
	require.NoError(t, err)
	number, err := strconv.Atoi(port)
	require.NoError(t, err)
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
	object, err = n.client.CoreV1().Nodes().Create(context.Background(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	object.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	object.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
	_, err = n.client.CoreV1().Nodes().UpdateStatus(context.Background(), object, metav1.UpdateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = n.client.CoreV1().Nodes().Delete(context.Background(), n.Name, metav1.DeleteOptions{})
	})
}

func (n *Node) see(ctx context.Context, pod *corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	cancel, known := n.running[pod.UID]
	switch {
	case pod.DeletionTimestamp != nil:
		if known {
			cancel()
		}
		n.work.Go(func() { n.remove(ctx, pod) })
	case !known && pod.Status.Phase == corev1.PodPending:
		ctx, cancel := context.WithCancel(ctx)
		n.running[pod.UID] = cancel
		n.started++
		n.work.Go(func() { n.run(ctx, pod.DeepCopy()) })
	}
}

func (n *Node) forget(uid types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if cancel, known := n.running[uid]; known {
		cancel()
		delete(n.running, uid)
	}
}

// remove ends a graceful deletion, as a kubelet does when the processes are gone.
func (n *Node) remove(ctx context.Context, pod *corev1.Pod) {
	select {
	case <-time.After(n.options.StopDelay):
	case <-ctx.Done():
		return
	}
	options := metav1.DeleteOptions{GracePeriodSeconds: new(int64), Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
	persist(ctx, func() error { return n.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options) })
}

// run drives one pod through its life.
func (n *Node) run(ctx context.Context, pod *corev1.Pod) {
	if !n.options.SkipBinding {
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: n.Name}}
		if n.client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{}) != nil {
			return
		}
	}
	started := metav1.Now()
	if !n.options.SkipRunning && !n.report(ctx, pod, Running(pod, started)) {
		return
	}
	result := n.options.Program(ctx, pod)
	if result.Leave || ctx.Err() != nil {
		return
	}
	n.report(ctx, pod, Terminated(pod, started, metav1.NewTime(time.Now()), result))
}

// report writes a status, and tells whether the pod is still there.
func (n *Node) report(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) bool {
	return persist(ctx, func() error { return PatchPodStatus(ctx, n.client, pod, status) })
}

// persist retries a write until it succeeds, the pod is gone or the test ends. A busy API server refuses writes, and a kubelet
// retries them too.
func persist(ctx context.Context, write func() error) bool {
	for {
		err := write()
		switch {
		case err == nil:
			return true
		case apierrors.IsNotFound(err), apierrors.IsConflict(err): // a conflict means another pod of the same name
			return false
		case clock.Sleep(ctx, clock.System{}, writePause) != nil:
			return false
		}
	}
}
