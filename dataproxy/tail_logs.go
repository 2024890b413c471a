package dataproxy

import (
	"context"
	"sync"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/kube/kuberule"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// TailLogs implements DataProxyService: the log of an attempt from its first line, followed while the pod lives, and
// from the object store when it has gone. As long as there is no log yet, it returns NotFound; clients retry. A stream
// ends when the containers have ended.
func (s *Service) TailLogs(ctx context.Context, r *dataproxy.TailLogsRequest, stream *connect.ServerStream[dataproxy.TailLogsResponse]) error {
	return s.tailLogs(ctx, r, stream.Send)
}

func (s *Service) tailLogs(ctx context.Context, r *dataproxy.TailLogsRequest, send func(*dataproxy.TailLogsResponse) error) error {
	id, attempt := r.GetActionId(), r.GetAttempt()
	switch {
	case id.GetRun() == nil || id.GetName() == "":
		return rpc.InvalidArgument("action_id", "the run and the name are required")
	case attempt == 0:
		return rpc.InvalidArgument("attempt", "must be at least 1")
	}
	logs, err := s.deps.Runs.GetActionLogContext(ctx, &workflow.GetActionLogContextRequest{ActionId: id, Attempt: attempt})
	if err != nil {
		return err
	}
	containers, err := selectContainers(r, logs.GetLogContext())
	if err != nil {
		return err
	}
	storage, err := s.deps.Engine.GetActionStorage(ctx, &enginev1.GetActionStorageRequest{ActionId: id})
	if err != nil {
		return err
	}
	out := &logSink{send: send, batch: s.config.Logs.BatchLines}
	return s.tailAll(ctx, out, r, containers, logs.GetCluster(), blobpath.AttemptDir(storage.GetRunOutputBase(), id.GetName(), attempt))
}

// tailAll tails the containers at once, with heartbeats in between. Only the first, which is the primary one, must have a
// log.
func (s *Service) tailAll(ctx context.Context, out *logSink, r *dataproxy.TailLogsRequest, containers []container, cluster, attemptDir string) error {
	tails, following := errgroup.WithContext(ctx)
	for i, c := range containers {
		t := &tail{svc: s, container: c, action: r.GetActionId(), attempt: r.GetAttempt(), cluster: cluster, sealed: c.sealed(attemptDir), out: out}
		tails.Go(func() error {
			err := t.run(following)
			if rpc.IsNotFound(err) && i > 0 {
				return nil
			}
			return err
		})
	}
	beating, stop := context.WithCancel(ctx)
	var heart sync.WaitGroup
	heart.Go(func() { s.heartbeat(beating, out) })
	err := tails.Wait()
	stop()
	heart.Wait()
	if ctx.Err() != nil {
		return rpc.Unavailable(nil, "stream interrupted")
	}
	return err
}

// heartbeat keeps silent streams open. Clients pass over messages without lines.
func (s *Service) heartbeat(ctx context.Context, out *logSink) {
	for {
		timer := s.clock.NewTimer(s.config.Logs.Heartbeat)
		select {
		case <-timer.C():
			if out.beat() != nil {
				return // the tails will notice too
			}
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// container is a container whose log was requested.
type container struct {
	namespace, pod, name string
	primaryPod           bool
}

// sealed is where the log is stored when the pod is gone; empty if it cannot be.
func (c container) sealed(attemptDir string) string {
	switch {
	case c.primaryPod:
		return blobpath.SealedLog(attemptDir, "", c.name)
	case !kuberule.IsName(c.pod): // It becomes part of a path.
		return ""
	}
	return blobpath.SealedLog(attemptDir, c.pod, c.name)
}

// selectContainers chooses by the request's selector: by default the primary container of the primary pod; all pods, or
// one by name, with all their containers. The primary ones come first.
func selectContainers(r *dataproxy.TailLogsRequest, logs *core.LogContext) ([]container, error) {
	primary := logs.GetPrimaryPodName()
	if primary == "" && len(logs.GetPods()) > 0 {
		primary = logs.GetPods()[0].GetPodName()
	}
	var chosen []container
	for _, pod := range logs.GetPods() {
		switch selector := r.GetPodSelector().(type) {
		case *dataproxy.TailLogsRequest_AllPods:
			found := containersOf(pod, pod.GetPodName() == primary)
			if pod.GetPodName() == primary {
				chosen = append(found, chosen...)
			} else {
				chosen = append(chosen, found...)
			}
		case *dataproxy.TailLogsRequest_PodName:
			if pod.GetPodName() == selector.PodName {
				chosen = containersOf(pod, pod.GetPodName() == primary)
			}
		default:
			if pod.GetPodName() == primary {
				chosen = containersOf(pod, true)[:1]
			}
		}
	}
	if len(chosen) == 0 {
		return nil, rpc.NotFound("the attempt has no such pod, or has not created it yet")
	}
	return chosen, nil
}

// containersOf are the containers of a pod, the primary one first.
func containersOf(pod *core.PodLogContext, primaryPod bool) []container {
	primary := pod.GetPrimaryContainerName()
	if primary == "" && len(pod.GetContainers()) > 0 {
		primary = pod.GetContainers()[0].GetContainerName()
	}
	result := []container{{pod.GetNamespace(), pod.GetPodName(), primary, primaryPod}}
	for _, list := range [][]*core.ContainerContext{pod.GetInitContainers(), pod.GetContainers()} {
		for _, c := range list {
			if c.GetContainerName() != primary {
				result = append(result, container{pod.GetNamespace(), pod.GetPodName(), c.GetContainerName(), primaryPod})
			}
		}
	}
	return result
}

// logSink is the client's stream, shared by the containers.
type logSink struct {
	send  func(*dataproxy.TailLogsResponse) error
	batch int

	mu   sync.Mutex
	sent bool // GUARDED_BY(mu): since the last heartbeat
}

func (o *logSink) lines(lines []*dataplane.LogLine, from *dataplane.ContainerIdentifier) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(lines) > 0 {
		n := min(len(lines), o.batch)
		err := o.send(&dataproxy.TailLogsResponse{Logs: []*dataproxy.TailLogsResponse_Logs{{Lines: lines[:n], Container: from}}})
		if err != nil {
			return err
		}
		lines, o.sent = lines[n:], true
	}
	return nil
}

func (o *logSink) beat() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sent {
		o.sent = false
		return nil
	}
	return o.send(&dataproxy.TailLogsResponse{})
}
