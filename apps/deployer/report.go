package deployer

import (
	"context"
	"sync"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// maxBatch is how many apps one report has at most.
const maxBatch = 200

// reports sends the state of apps to the apps service: of each app the newest one, when it has changed. What changes while a
// report is in flight is in the next one.
type reports struct {
	config  Config
	fleet   Fleet
	cluster string
	clock   clock.Clock
	logger  zerolog.Logger
	meters  *meters
	wake    chan struct{}

	mu      sync.Mutex
	pending map[string]*enginev1.ObservedApp // GUARDED_BY(mu)
	sent    map[string]*enginev1.ObservedApp // GUARDED_BY(mu): as the apps service has them
	done    func(*enginev1.ObservedApp)      // called for each state that was received
}

func newReports(config Config, deps Deps, figures *meters, done func(*enginev1.ObservedApp)) *reports {
	return &reports{
		config: config, fleet: deps.Fleet, cluster: deps.Cluster, clock: deps.Clock, logger: deps.Logger, meters: figures, done: done, wake: make(chan struct{}, 1),
		pending: map[string]*enginev1.ObservedApp{}, sent: map[string]*enginev1.ObservedApp{},
	}
}

// put replaces the state of an app. Nothing is sent if it is known already.
func (r *reports) put(state *enginev1.ObservedApp) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.pending[state.GetUid()]
	if last == nil {
		last = r.sent[state.GetUid()]
	}
	if proto.Equal(last, state) {
		return
	}
	r.pending[state.GetUid()] = state
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// again reports all apps again: the apps service may have started again, and then discards what it had of a shared network.
func (r *reports) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uid, state := range r.sent {
		if r.pending[uid] == nil {
			r.pending[uid] = state
		}
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run sends reports until ctx ends.
func (r *reports) run(ctx context.Context) {
	retries := r.config.Backoff.New()
	for {
		select {
		case <-r.wake:
		case <-ctx.Done():
			return
		}
		for batch := r.take(); len(batch) > 0; batch = r.take() {
			if err := r.send(ctx, batch); err != nil {
				r.putBack(batch)
				if ctx.Err() == nil && retries.Failures() == 0 {
					r.logger.Warn().Err(err).Msg("cannot report the state of apps; retrying")
				}
				if retries.Wait(ctx, r.clock) != nil {
					return
				}
				continue
			}
			retries.Reset()
		}
	}
}

func (r *reports) take() []*enginev1.ObservedApp {
	r.mu.Lock()
	defer r.mu.Unlock()
	var batch []*enginev1.ObservedApp
	for uid, state := range r.pending {
		if len(batch) == maxBatch {
			break
		}
		batch = append(batch, state)
		delete(r.pending, uid)
	}
	return batch
}

// putBack keeps what could not be sent, unless there is something newer.
func (r *reports) putBack(batch []*enginev1.ObservedApp) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, state := range batch {
		if r.pending[state.GetUid()] == nil {
			r.pending[state.GetUid()] = state
		}
	}
}

func (r *reports) send(ctx context.Context, batch []*enginev1.ObservedApp) error {
	call, cancel := context.WithTimeout(ctx, r.config.CallTimeout)
	defer cancel()
	answer, err := r.fleet.ReportApps(call, &enginev1.ReportAppsRequest{Cluster: r.cluster, Apps: batch})
	if err != nil {
		count(ctx, r.meters.reports, resultError)
		return err
	}
	count(ctx, r.meters.reports, resultOK)
	r.mu.Lock()
	for _, state := range batch {
		if len(state.GetRevisions()) == 0 {
			delete(r.sent, state.GetUid()) // it is gone, or has never been
		} else {
			r.sent[state.GetUid()] = state
		}
	}
	for _, uid := range answer.GetUnknown() {
		delete(r.sent, uid)
	}
	r.mu.Unlock()
	for _, state := range batch {
		r.done(state)
	}
	return nil
}

// count counts the replicas of all apps by state, and the apps whose state is not sent yet.
func (r *reports) count() (replicas map[string]int64, pending int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	replicas = map[string]int64{}
	add := func(state *enginev1.ObservedApp) {
		for _, revision := range state.GetRevisions() {
			for _, one := range revision.GetReplicas() {
				switch {
				case one.GetPhase() == phaseEnded:
				case one.GetDraining():
					replicas[stateDraining]++
				case one.GetReady():
					replicas[stateReady]++
				default:
					replicas[stateStarting]++
				}
			}
		}
	}
	for uid, state := range r.sent {
		if r.pending[uid] == nil {
			add(state)
		}
	}
	for _, state := range r.pending {
		add(state)
	}
	return replicas, len(r.pending)
}
