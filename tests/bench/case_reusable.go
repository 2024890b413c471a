package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1/workerv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// reusableWorkers is how many workers a pool of the bench has.
const reusableWorkers = 2

// reusableImage is the image of the environment with this concurrency, by which its pods are known.
func reusableImage(concurrency int32) string {
	return fmt.Sprintf("registry.example/bench/reusable:%d", concurrency)
}

// reusableTask is a task of a reusable environment. Each concurrency is an environment of its own.
func reusableTask(concurrency int32) *task.TaskSpec {
	spec := stack.PythonTask("reusable")
	template := spec.GetTaskTemplate()
	template.Type = "actor"
	template.GetContainer().Image = reusableImage(concurrency)
	template.Id.Version = fmt.Sprint("with ", concurrency, " slots")
	template.ReusePolicy = &core.ReusePolicy{MinReplicas: reusableWorkers, MaxReplicas: reusableWorkers, Concurrency: concurrency}
	return spec
}

// measureReusable has n children of a reusable environment run by workers that end each of them at once: what remains is the work
// of the server.
func measureReusable(n, callers int, concurrency int32) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		p, err := stack.StartFakeParent(ctx, s)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		enqueue := func(name string) error { return s.EnqueueTask(ctx, p.Action, name, reusableTask(concurrency)) }
		if err := enqueue("first"); err != nil {
			return err
		}
		workers, err := startWorkers(ctx, s, concurrency)
		if err != nil {
			return err
		}
		defer workers.stop()
		if _, err := p.Await(ctx, "first"); err != nil {
			return err
		}
		usage, err := s.Usage()
		if err != nil {
			return err
		}
		began := time.Now()
		taken, err := stack.Each(n, callers, childName, enqueue)
		if err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		enqueued := time.Since(began)
		last, err := p.AwaitAll(ctx, n+1)
		if err != nil {
			return err
		}
		used, err := s.Usage()
		if err != nil {
			return err
		}
		r.Add("finished actions", float64(n)/last.Sub(began).Seconds(), "/s")
		r.Add("Enqueue", float64(n)/enqueued.Seconds(), "/s")
		r.Latency("Enqueue", taken)
		used.Since(usage).PerAction(r, n)
		workers.leave()
		return p.Finish(ctx)
	}
}

// fakeWorkers end every attempt at once.
type fakeWorkers struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	all    []*fakeWorker
}

func (w *fakeWorkers) stop() {
	w.cancel()
	w.done.Wait()
}

// leave has the workers end, so that their pods are deleted.
func (w *fakeWorkers) leave() {
	for _, one := range w.all {
		one.mu.Lock()
		one.slots = 0
		one.mu.Unlock()
		one.signal()
	}
	w.done.Wait()
}

// startWorkers waits for the pods of the pool with this concurrency, and connects in their place.
func startWorkers(ctx context.Context, s *stack.Stack, concurrency int32) (*fakeWorkers, error) {
	ctx, cancel := context.WithCancel(ctx)
	workers := &fakeWorkers{cancel: cancel}
	pods, err := podsOfWorkers(ctx, s, reusableImage(concurrency))
	if err != nil {
		cancel()
		return nil, err
	}
	for i := range pods {
		one, err := newWorker(ctx, s, &pods[i], uint32(concurrency))
		if err != nil {
			cancel()
			return nil, err
		}
		workers.all = append(workers.all, one)
		workers.done.Go(func() { _ = one.run(ctx) }) // what it did not do is missed by the parent
	}
	return workers, nil
}

// podsOfWorkers waits until a pool has all of its pods. Those of another pool may still be there.
func podsOfWorkers(ctx context.Context, s *stack.Stack, image string) ([]corev1.Pod, error) {
	for {
		pods, err := s.Cluster.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{LabelSelector: stack.LabelWorker})
		if err != nil {
			return nil, err
		}
		found := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Spec.Containers[0].Image != image })
		if len(found) >= reusableWorkers {
			return found, nil
		}
		if err := stack.Pause(ctx, 20*time.Millisecond); err != nil {
			return nil, fmt.Errorf("%d pods of workers appeared: %w", len(found), err)
		}
	}
}

// fakeWorker is one worker.
type fakeWorker struct {
	id, token string
	client    workerv1connect.WorkerServiceClient
	wake      chan struct{}

	mu    sync.Mutex
	slots uint32                    // GUARDED_BY(mu)
	ended map[int64]*workerv1.Ended // GUARDED_BY(mu): not acknowledged, by uid
}

// newWorker reads the token of a worker as its pod would get it.
func newWorker(ctx context.Context, s *stack.Stack, pod *corev1.Pod, slots uint32) (*fakeWorker, error) {
	secret, err := s.Cluster.Client.CoreV1().Secrets(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return &fakeWorker{
		id: pod.Labels[stack.LabelWorker], token: string(secret.Data["token"]), slots: slots, ended: map[int64]*workerv1.Ended{}, wake: make(chan struct{}, 1),
		// Like the worker, without compression.
		client: workerv1connect.NewWorkerServiceClient(&http.Client{Transport: s.Client.Transport}, s.Client.URL, connect.WithAcceptCompression("gzip", nil, nil)),
	}, nil
}

// signal has the state sent soon. Several changes before that are one message.
func (w *fakeWorker) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run has one stream until it ends. There is no reconnection: a stream that breaks makes the case fail.
func (w *fakeWorker) run(ctx context.Context) error {
	calling, call := connect.NewClientContext(ctx)
	call.RequestHeader().Set("Authorization", "Bearer "+w.token)
	stream, err := w.client.Work(calling)
	if err != nil {
		return err
	}
	var sender sync.WaitGroup
	defer sender.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hello := &workerv1.Hello{WorkerId: w.id, Incarnation: "bench", Version: "bench", State: w.state()}
	if err := stream.Send(&workerv1.WorkRequest{Message: &workerv1.WorkRequest_Hello{Hello: hello}}); err != nil {
		return err
	}
	sender.Go(func() { w.report(ctx, stream) })
	for {
		m, err := stream.Receive()
		if err != nil {
			return err
		}
		w.take(m)
	}
}

// report sends the state whenever it has changed, and now and then.
func (w *fakeWorker) report(ctx context.Context, stream *connect.BidiStreamForClientSimple[workerv1.WorkRequest, workerv1.WorkResponse]) {
	beat := time.NewTicker(5 * time.Second)
	defer beat.Stop()
	for {
		select {
		case <-w.wake:
		case <-beat.C:
		case <-ctx.Done():
			return
		}
		state := w.state()
		if err := stream.Send(&workerv1.WorkRequest{Message: &workerv1.WorkRequest_Heartbeat{Heartbeat: state}}); err != nil && err != io.EOF { //nolint:errorlint // as Send says it
			return
		}
		if state.GetSlots() == 0 && len(state.GetEnded()) == 0 {
			_ = stream.CloseRequest()
			return
		}
	}
}

// state is what every message of a worker has: its free slots, and the ends that are not acknowledged.
func (w *fakeWorker) state() *workerv1.Heartbeat {
	w.mu.Lock()
	defer w.mu.Unlock()
	state := &workerv1.Heartbeat{Slots: w.slots}
	for _, e := range w.ended {
		state.Ended = append(state.Ended, e)
	}
	return state
}

// take ends an assigned attempt at once and drops acknowledged ends.
func (w *fakeWorker) take(m *workerv1.WorkResponse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case m.GetAssignment() != nil:
		id, now := m.GetAssignment().GetId(), timestamppb.Now()
		w.ended[id.GetUid()] = &workerv1.Ended{Id: id, StartedAt: now, EndedAt: now, End: workerv1.End_END_EXITED, Warm: true}
	case m.GetAcknowledged() != nil:
		for _, id := range m.GetAcknowledged().GetIds() {
			delete(w.ended, id.GetUid())
		}
		return
	case m.GetDrain() != nil:
		w.slots = 0
	default:
		return
	}
	w.signal()
}
