package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/flyte-binary/flyte-binary/demo/node/capacity"
	"github.com/flyte-binary/flyte-binary/demo/node/devices"
	"github.com/flyte-binary/flyte-binary/demo/node/pki"
	"github.com/flyte-binary/flyte-binary/demo/node/podenv"
	"github.com/flyte-binary/flyte-binary/demo/node/podvolume"
	"github.com/flyte-binary/flyte-binary/demo/node/process"
	"github.com/flyte-binary/flyte-binary/demo/node/warm"
	"github.com/flyte-binary/flyte-binary/internal/kube/apipace"
	"github.com/flyte-binary/flyte-binary/internal/kube/apiretry"
	"github.com/flyte-binary/flyte-binary/internal/wire/loglimit"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// Node is the local node.
type Node struct {
	cfg      Config
	log      zerolog.Logger
	clk      clock.Clock
	client   kubernetes.Interface
	launcher process.Launcher
	warm     *warm.Pool
	mounter  *podvolume.Mounter
	volumes  podvolume.Maker
	resolver podenv.Resolver
	capacity corev1.ResourceList
	devices  *devices.Table
	usage    meter
	apiURL   string
	binder   *binder
	server   *server
	recorder record.EventRecorder
	events   record.EventBroadcaster

	ctx    context.Context //nolint:containedctx // of the goroutines, which outlive Start; ends with Stop
	cancel context.CancelFunc
	loops  sync.WaitGroup

	writers    *apipace.Gate
	complaints *loglimit.Limit

	ports  sync.Mutex        // held while a container looks for a port
	had    map[string]string // GUARDED_BY(ports): the app that had a port last, by the port
	places sync.Mutex        // held while directories of attempts are created, or removed with their empty parents

	mu       sync.Mutex
	workers  map[types.UID]*worker // GUARDED_BY(mu)
	live     sync.WaitGroup        // workers
	stopping bool                  // GUARDED_BY(mu): no more workers
}

var _ lifecycle.Part = (*Node)(nil)

// New returns a node for the cluster of config. It does nothing until Start.
func New(cfg Config, config *rest.Config, log zerolog.Logger, clk clock.Clock) (*Node, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("local node: %w", err)
	}
	executable, err := cfg.executable()
	if err != nil {
		return nil, fmt.Errorf("local node: %w", err)
	}
	if cfg.Certificates == "" {
		cfg.Certificates = filepath.Join(cfg.DataDir, "pki")
	}
	config = rest.CopyConfig(config)
	config.Wrap(apiretry.Watches(clk, log))
	config.QPS = -1 // no limit: the node makes few calls for each pod
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("local node: %w", err)
	}
	n := &Node{
		cfg: cfg, clk: clk, client: client, apiURL: config.Host, log: log.With().Str("node", cfg.Name).Logger(), workers: map[types.UID]*worker{}, had: map[string]string{},
		writers: apipace.NewGate(clk, leastWrites, mostWrites), complaints: loglimit.New(clk),
		devices:  devices.NewTable(cfg.Devices),
		launcher: process.Launcher{Executable: executable, LogBytes: cfg.LogBytes, MemoryInterval: cfg.MemoryInterval},
		capacity: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(cfg.CPUs*cfg.CPUOvercommit*1000), resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(cfg.MemoryBytes, resource.BinarySI),
			corev1.ResourcePods:   *resource.NewQuantity(cfg.Pods, resource.DecimalSI),
		},
	}
	capacity.Add(n.capacity, devices.Capacity(cfg.Devices))
	source := objects{client}
	about := podenv.Node{Name: cfg.Name, IP: cfg.Address, Allocatable: n.capacity}
	n.resolver = podenv.Resolver{Source: source, Node: about}
	n.volumes = podvolume.Maker{Source: source, Node: about, MemoryDir: memoryVolumes()}
	if cfg.ServiceAccountTokens {
		n.volumes.Tokens = source
	}
	n.binder = newBinder(n)
	cfg.Warm.Dir, cfg.Warm.Executable = filepath.Join(cfg.DataDir, "warm"), executable
	if n.warm, err = warm.New(cfg.Warm, n.log, clk); err != nil {
		return nil, fmt.Errorf("local node: %w", err)
	}
	return n, nil
}

// Starts counts the processes of containers that the node has started, warm and cold.
func (n *Node) Starts() *warm.Counts { return n.warm.Counts() }

// Start implements lifecycle.Part: afterwards the node is registered, has found the processes of an earlier node and
// takes pods.
func (n *Node) Start(ctx context.Context) error {
	if err := os.MkdirAll(n.podsDir(), 0o700); err != nil {
		return fmt.Errorf("create the node's data directory: %w", err)
	}
	if err := n.restoreDevices(); err != nil {
		return err
	}
	namespaces := !n.cfg.PortableMounts && podvolume.HaveNamespaces()
	register, err := podvolume.OpenRegister()
	if err != nil {
		return err
	}
	if n.mounter, err = podvolume.NewMounter(filepath.Join(n.cfg.DataDir, "mounts.json"), register, namespaces); err != nil {
		return err
	}
	if !n.cfg.NoCgroups {
		n.launcher.Cgroups = process.FindCgroups("flyte-node-" + shortHash(n.cfg.DataDir))
	}
	certificates, err := pki.EnsureCertificates(n.cfg.Certificates, n.cfg.Address, n.clk)
	if err != nil {
		return err
	}
	n.ctx, n.cancel = context.WithCancel(context.WithoutCancel(ctx))
	n.events = record.NewBroadcaster(record.WithContext(n.ctx))
	n.events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: n.client.CoreV1().Events("")})
	n.recorder = n.events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "local-node", Host: n.cfg.Name})
	if n.server, err = startServer(n, certificates); err != nil {
		n.cancel()
		return err
	}
	if err := n.register(ctx); err != nil {
		return errors.Join(err, n.Detach(ctx))
	}
	if err := n.watch(ctx); err != nil {
		return errors.Join(err, n.Detach(ctx))
	}
	n.loops.Go(n.heartbeat)
	n.loops.Go(n.binder.run)
	n.loops.Go(func() { n.warm.Run(n.ctx) })
	if n.cfg.Made != nil {
		n.loops.Go(n.collect)
	}
	return nil
}

// Stop implements lifecycle.Part: it ends every process and reports each pod as ended by the node, a disruption that is
// not the fault of the task.
func (n *Node) Stop(ctx context.Context) error {
	for _, w := range n.close() {
		w.requestStop(stopShutdown, n.cfg.StopGrace)
	}
	return n.finish(ctx)
}

// Detach ends the node and leaves processes alone, for the next one on the same data directory.
func (n *Node) Detach(ctx context.Context) error {
	n.close()
	if n.cancel != nil {
		n.cancel()
	}
	return n.finish(ctx)
}

// close prevents new workers and returns the existing ones.
func (n *Node) close() []*worker {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopping = true
	workers := make([]*worker, 0, len(n.workers))
	for _, w := range n.workers {
		workers = append(workers, w)
		w.letGo()
	}
	return workers
}

// finish waits for everything.
func (n *Node) finish(ctx context.Context) error {
	if n.cancel == nil {
		return nil // was never started
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.live.Wait()
		n.cancel()
		n.server.stop() // its goroutine is one of the loops
		n.loops.Wait()
		n.warm.Stop()
		n.events.Shutdown()
	}()
	select {
	case <-done:
		n.launcher.Cgroups.Remove()
		return nil
	case <-ctx.Done():
		n.cancel()
		return fmt.Errorf("stop the local node: %w", ctx.Err())
	}
}

func (n *Node) podsDir() string { return filepath.Join(n.cfg.DataDir, "pods") }

// observe handles a change of a pod of this node.
func (n *Node) observe(pod *corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.workers[pod.UID]
	if w == nil {
		if n.stopping {
			return
		}
		w = newWorker(n, pod)
		n.workers[pod.UID] = w
		n.live.Go(w.run)
	}
	w.observe(pod)
}

// forget handles the removal of a pod from the API.
func (n *Node) forget(uid types.UID) {
	n.mu.Lock()
	w := n.workers[uid]
	delete(n.workers, uid)
	n.mu.Unlock()
	if w == nil {
		n.freeDevices(string(uid)) // it never ran here
		return
	}
	w.vanish()
}

// find is the worker of a pod by its name, nil when there is none.
func (n *Node) find(namespace, name string) *worker {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range n.workers {
		if pod := w.pod(); pod.Namespace == namespace && pod.Name == name {
			return w
		}
	}
	return nil
}

// after waits and reports whether the time passed before one of the channels closed.
func (n *Node) after(d time.Duration, stop ...<-chan struct{}) bool {
	timer := n.clk.NewTimer(d)
	defer timer.Stop()
	var other <-chan struct{}
	if len(stop) > 0 {
		other = stop[0]
	}
	select {
	case <-timer.C():
		return true
	case <-n.ctx.Done():
		return false
	case <-other:
		return false
	}
}

// memoryVolumes is where volumes in memory go, if anywhere.
func memoryVolumes() string {
	if info, err := os.Stat(capacity.MemoryDir); err != nil || !info.IsDir() {
		return ""
	}
	return capacity.MemoryDir
}

// tombstone extracts a deleted object from an informer's notification.
func tombstone(object any) (*corev1.Pod, bool) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*corev1.Pod)
	return pod, ok
}

// shortHash distinguishes the nodes of a machine.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
