package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/nodestats"
)

// Source reads what the pods of a node use.
type Source interface {
	// Summary is the node's answer to /stats/summary.
	Summary(ctx context.Context, node string) (nodestats.Summary, error)
}

// Kubelets reads the summaries of kubelets through the API server.
type Kubelets struct{ Client rest.Interface }

// Summary implements Source.
func (k Kubelets) Summary(ctx context.Context, node string) (nodestats.Summary, error) {
	raw, err := k.Client.Get().AbsPath("/api/v1/nodes", node, "proxy", "stats", "summary").Do(ctx).Raw()
	if err != nil {
		return nodestats.Summary{}, fmt.Errorf("read the summary of node %s: %w", node, err)
	}
	return nodestats.Read(raw)
}

// MetricsAPI reads what pods use from metrics.k8s.io, which knows processors and memory only.
type MetricsAPI struct {
	Client rest.Interface
	// Namespaces are those of tasks; empty means all.
	Namespaces []string
}

// podMetrics is a PodMetricsList, as far as it is read here.
type podMetrics struct {
	Items []struct {
		Metadata   struct{ Name, Namespace string }
		Timestamp  time.Time
		Window     string
		Containers []struct{ Usage map[string]resource.Quantity }
	}
}

// usages are the uses of all pods of tasks, by namespace and name: the API has no UIDs.
func (m MetricsAPI) usages(ctx context.Context) (map[string]usage, error) {
	paths := []string{"/apis/metrics.k8s.io/v1beta1/pods"}
	if len(m.Namespaces) > 0 {
		paths = paths[:0]
		for _, namespace := range m.Namespaces {
			paths = append(paths, "/apis/metrics.k8s.io/v1beta1/namespaces/"+namespace+"/pods")
		}
	}
	all := map[string]usage{}
	for _, path := range paths {
		raw, err := m.Client.Get().AbsPath(path).Param("labelSelector", v1.LabelManaged+"="+v1.ManagedValue).Do(ctx).Raw()
		if err != nil {
			return nil, fmt.Errorf("read the metrics API: %w", err)
		}
		var list podMetrics
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("read the metrics API: %w", err)
		}
		for _, item := range list.Items {
			one := usage{at: item.Timestamp}
			if window, err := time.ParseDuration(item.Window); err == nil {
				one.since = item.Timestamp.Add(-window)
			}
			for _, container := range item.Containers {
				if cpu, ok := container.Usage["cpu"]; ok {
					nanos := uint64(max(0, cpu.ScaledValue(resource.Nano)))
					add(&one.rate, &nanos)
				}
				if memory, ok := container.Usage["memory"]; ok {
					bytes := uint64(max(0, memory.Value()))
					add(&one.memory, &bytes)
				}
			}
			all[item.Metadata.Namespace+"/"+item.Metadata.Name] = one
		}
	}
	return all, nil
}

// refused reports whether an error means that the next call fails alike: a missing right, or an API that is not there.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// retryRefused is how long a source that refused is not asked again.
const retryRefused = 10 * time.Minute

// sources chooses between the summaries of kubelets and the metrics API.
type sources struct {
	kubelets Source      // nil for none
	metrics  *MetricsAPI // nil for none
	clock    clock.Clock

	timeout time.Duration // of one answer of a kubelet
	pause   time.Duration // the first one after a kubelet did not answer

	mu         sync.Mutex
	silent     map[string]*silence // GUARDED_BY(mu): by node
	notKubelet time.Time           // GUARDED_BY(mu): until when kubelets are not asked, since they cannot be
	notMetrics time.Time           // GUARDED_BY(mu): the same of the metrics API
}

// silence is that of a kubelet that does not answer.
type silence struct {
	failures int
	last     error
	until    time.Time // when it is asked again
}

// errNone means that no source may be read.
var errNone = errors.New("neither the metrics API (list pods of metrics.k8s.io) nor the summaries of kubelets (executor.measure.kubelets, get nodes/proxy) can be read")

// read reads what the pods of nodes use, by UID or by namespace and name. It returns what it can, and the errors by node. The metrics API
// is read for all nodes only: its answer has all pods, and the server behind it measures a pod no sooner for being asked.
func (s *sources) read(ctx context.Context, nodes []string, whole bool) (map[string]usage, map[string]error) {
	all, failed := map[string]usage{}, map[string]error{}
	if s.kubelets != nil && s.allowed(&s.notKubelet) {
		forbidden := s.ask(ctx, nodes, all, failed)
		if !forbidden {
			return all, failed
		}
		s.forbid(&s.notKubelet)
	}
	if !whole {
		return all, failed
	}
	err := errNone
	if s.metrics != nil && s.allowed(&s.notMetrics) {
		var found map[string]usage
		if found, err = s.metrics.usages(ctx); err == nil {
			return found, nil
		}
		if refused(err) {
			s.forbid(&s.notMetrics)
			err = errNone
		}
	}
	for _, node := range nodes {
		failed[node] = err
	}
	return all, failed
}

// nodesAtOnce is how many kubelets are asked at the same time.
const nodesAtOnce = 16

// nodeTimeout bounds one answer of a kubelet, and maxSilence the pause after several that did not come: a round waits for all
// kubelets that it asks.
const (
	nodeTimeout = 10 * time.Second
	maxSilence  = 5 * time.Minute
)

// ask asks the kubelets of nodes, and reports whether that is forbidden. One that did not answer is left alone for a while.
func (s *sources) ask(ctx context.Context, nodes []string, all map[string]usage, failed map[string]error) (forbidden bool) {
	var mu sync.Mutex
	var asking sync.WaitGroup
	room := make(chan struct{}, nodesAtOnce)
	for _, node := range s.due(nodes, failed) {
		room <- struct{}{}
		asking.Go(func() {
			defer func() { <-room }()
			ctx, cancel := context.WithTimeout(ctx, s.timeout)
			defer cancel()
			summary, err := s.kubelets.Summary(ctx, node)
			s.note(node, err)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[node] = err
				forbidden = forbidden || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
				return
			}
			for uid, one := range usagesOf(summary) {
				all[uid] = one
			}
		})
	}
	asking.Wait()
	return forbidden
}

// due leaves out the nodes that are not asked now, and adds why to failed. It forgets those that no longer run attempts.
func (s *sources) due(nodes []string, failed map[string]error) (due []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, kept := s.clock.Now(), map[string]*silence{}
	for _, node := range nodes {
		quiet := s.silent[node]
		if quiet != nil {
			kept[node] = quiet
		}
		if quiet != nil && now.Before(quiet.until) {
			failed[node] = quiet.last
			continue
		}
		due = append(due, node)
	}
	s.silent = kept
	return due
}

// note notes whether a node answered.
func (s *sources) note(node string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.silent, node)
		return
	}
	quiet := s.silent[node]
	if quiet == nil {
		quiet = &silence{}
		s.silent[node] = quiet
	}
	quiet.failures++
	quiet.last, quiet.until = err, s.clock.Now().Add(backoff.After(s.pause, maxSilence, quiet.failures))
}

func (s *sources) allowed(until *time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.clock.Now().Before(*until)
}

func (s *sources) forbid(until *time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*until = s.clock.Now().Add(retryRefused)
}
