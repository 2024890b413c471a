package deployer

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/logs"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

const (
	// sealLimit bounds the copy of one log, which lasts as long as the pod takes to end.
	sealLimit = 10 * time.Minute
	// sealTries is how often one log is tried: an object store may be away for some seconds.
	sealTries = 6
	// maxWaiting is how many logs wait to be copied; those of further replicas are not kept.
	maxWaiting = 1000
	// maxKept is how many ended replicas of one app wait to be reported.
	maxKept = 100
)

// gone is a replica whose pod has ended and whose log is kept.
type gone struct {
	revision uint64
	replica  *enginev1.ObservedReplica
}

// sealed is the log of a pod.
type sealed struct {
	pod     string
	attempt int32
	busy    bool   // it waits, or is being copied
	uri     string // where it is kept; empty until it is
}

// logKeeper copies the logs of replicas that end into the object store. It begins to read when a pod receives its termination signal, and
// reads on until its container has ended: afterwards the log is deleted. So nothing is kept of a pod that
// vanishes at once, with its node or by force. The log of a container that is started again is copied while the next run is the
// current one.
type logKeeper struct {
	sealer  *logs.Sealer // nil keeps nothing
	client  client.Client
	root    string
	logger  zerolog.Logger
	meters  *meters
	clock   clock.Clock
	backoff backoff.Config
	changed func(uid string)
	workers int
	waiting chan sealing
	local   bool // the pods are those of a local node

	mu    sync.Mutex
	taken map[string]map[string]*sealed // GUARDED_BY(mu): by uid of the app and name, as long as the pod is there
	ended map[string]map[string]gone    // GUARDED_BY(mu): by uid of the app and name, until it is reported
}

func newLogKeeper(s *Service, c client.Client, changed func(uid string)) *logKeeper {
	k := &logKeeper{
		client: c, root: s.deps.Store.Root(), logger: s.deps.Logger, meters: s.meters, clock: s.deps.Clock, backoff: s.config.Backoff,
		changed: changed, workers: s.config.KeepLogs,
		waiting: make(chan sealing, maxWaiting), local: s.config.SharedNetwork, taken: map[string]map[string]*sealed{}, ended: map[string]map[string]gone{},
	}
	if s.config.KeepLogs > 0 && s.deps.Logs.Seal {
		config := s.deps.Logs
		config.SealTimeout = sealLimit
		k.sealer = logs.NewSealer(config, s.clientset.CoreV1(), s.deps.Store)
	}
	return k
}

// watch picks up the pods of an app that end, and the earlier runs of those that continue, and forgets those that are gone.
func (k *logKeeper) watch(uid string, pods []corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	runs := map[string]int32{} // by pod: the attempt that has ended last
	for i := range pods {
		pod := &pods[i]
		last, found := earlier(pod, k.local)
		runs[pod.Name] = last.attempt
		if found {
			k.take(uid, last)
		}
		if pod.DeletionTimestamp != nil || !alive(pod) {
			k.take(uid, sealing{pod: pod})
		}
	}
	for name, one := range k.taken[uid] {
		if last, there := runs[one.pod]; !one.busy && (!there || one.attempt != 0 && one.attempt < last) {
			delete(k.taken[uid], name)
		}
	}
	if len(k.taken[uid]) == 0 {
		delete(k.taken, uid)
	}
}

// take has a log copied, once. The caller holds mu.
func (k *logKeeper) take(uid string, one sealing) {
	if k.taken[uid][one.name()] != nil {
		return
	}
	select {
	case k.waiting <- sealing{one.pod.DeepCopy(), one.attempt}:
		if k.taken[uid] == nil {
			k.taken[uid] = map[string]*sealed{}
		}
		k.taken[uid][one.name()] = &sealed{pod: one.pod.Name, attempt: one.attempt, busy: true}
	default:
		k.logger.Warn().Str("pod", one.pod.Name).Msg("too many replicas ended at once; the log of this one may be lost")
	}
}

// uri is where the log of a pod is kept; empty until it is.
func (k *logKeeper) uri(uid, pod string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if one := k.taken[uid][pod]; one != nil {
		return one.uri
	}
	return ""
}

// kept are the ended replicas of an app that were not reported yet.
func (k *logKeeper) kept(uid string) []gone {
	k.mu.Lock()
	defer k.mu.Unlock()
	result := make([]gone, 0, len(k.ended[uid]))
	for _, one := range k.ended[uid] {
		result = append(result, one)
	}
	return result
}

// reported forgets the ended replicas that the apps service knows now, and says whether there were any.
func (k *logKeeper) reported(uid string, state *enginev1.ObservedApp) (found bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, revision := range state.GetRevisions() {
		for _, replica := range revision.GetReplicas() {
			if _, known := k.ended[uid][replica.GetName()]; known && replica.GetLogUri() != "" {
				delete(k.ended[uid], replica.GetName())
				found = true
			}
		}
	}
	if len(k.ended[uid]) == 0 {
		delete(k.ended, uid)
	}
	return found
}

// run copies logs until ctx ends.
func (k *logKeeper) run(ctx context.Context) {
	var workers sync.WaitGroup
	defer workers.Wait()
	for range max(1, k.workers) {
		workers.Go(func() {
			for {
				select {
				case pod := <-k.waiting:
					k.keep(ctx, pod)
				case <-ctx.Done():
					return
				}
			}
		})
	}
}

// keep copies one log. A pod that has ended by itself is deleted afterwards: its Deployment has a new one.
func (k *logKeeper) keep(ctx context.Context, one sealing) {
	pod, name := one.pod, one.name()
	uid := pod.Labels[labelUID]
	uri := k.copy(ctx, one)
	k.mu.Lock()
	// The inner map exists: watch removes no entry that is busy.
	k.taken[uid][name] = &sealed{pod: pod.Name, attempt: one.attempt, uri: uri}
	if uri != "" && len(k.ended[uid]) < maxKept {
		if k.ended[uid] == nil {
			k.ended[uid] = map[string]gone{}
		}
		k.ended[uid][name] = gone{revision: revisionOf(pod.Labels), replica: one.ended(uri)}
	}
	k.mu.Unlock()
	k.changed(uid)
	if one.attempt != 0 || pod.DeletionTimestamp != nil || ctx.Err() != nil {
		return
	}
	if err := k.client.Delete(ctx, blank(pod), client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
		k.logger.Warn().Err(err).Str("pod", pod.Name).Msg("cannot delete the ended replica of an app")
	}
}

// copy returns where the log is kept; empty when it is not.
func (k *logKeeper) copy(ctx context.Context, one sealing) string {
	pod := one.pod
	project, domain, ok := projectOf(pod.Annotations[annotationID])
	if k.sealer == nil || !ok || !started(pod) {
		return ""
	}
	uri := blobpath.AppLog(k.root, project, domain, pod.Labels[labelUID], one.name())
	log := plugin.Log{
		Namespace: pod.Namespace, Pod: pod.Name, Container: primary, Follow: one.attempt == 0 && alive(pod), Previous: one.attempt != 0,
	}
	for retries := k.backoff.New(); ; {
		kept, err := k.sealer.Keep(ctx, log, uri)
		switch {
		case kept:
			count(ctx, k.meters.logs, "stored")
			return uri
		case ctx.Err() != nil:
			return ""
		case err == nil:
			count(ctx, k.meters.logs, "lost")
			k.logger.Warn().Str("pod", pod.Name).Msg("replica was deleted before its log could be read; log lost")
			return ""
		case retries.Failures() == sealTries-1:
			count(ctx, k.meters.logs, "lost")
			k.logger.Warn().Err(err).Str("pod", pod.Name).Msg("cannot store the log of an ended replica; log lost")
			return ""
		}
		if retries.Wait(ctx, k.clock) != nil {
			return ""
		}
	}
}

// started reports whether the app of a pod has ever run.
func started(pod *corev1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		if status := &pod.Status.ContainerStatuses[i]; status.Name == primary {
			return status.State.Waiting == nil || status.RestartCount > 0
		}
	}
	return false
}
