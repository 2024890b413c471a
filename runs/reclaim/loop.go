// Package reclaim takes attempts back from clusters that cannot end them: from one that is away, and from one whose time to drain is
// over. Each is ended as a failure of the system, and the next attempt is queued for another cluster, in one transaction, once. One
// replica runs the loop, the holder of a lease; two would not take anything back twice.
package reclaim

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	"github.com/flyte-binary/flyte-binary/clusters/states"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// LeaseName is the lease of the loop.
const LeaseName = "reclaim"

// Clusters says what is known about each cluster; states.Reader does.
type Clusters interface {
	All(ctx context.Context) ([]states.State, error)
}

// Reader finds the attempts on a cluster; worklists.LiveReader does.
type Reader interface {
	// OnCluster reads live actions that run on a cluster, after one of them.
	OnCluster(ctx context.Context, of worklists.Placed, after schema.Ref, limit int) ([]schema.Ref, error)
}

// Assignments reads the assignments of actions; dispatch.Assignments does.
type Assignments interface {
	Get(ctx context.Context, cluster string, ids []int64, ended bool) ([]*enginev1.Assignment, error)
}

// Writer takes attempts back; store.Writer does.
type Writer interface {
	Reclaim(ctx context.Context, attempts []store.Reclaim) (int, error)
}

// Deps are the dependencies of the loop. All are required.
type Deps struct {
	Clusters    Clusters
	Reader      Reader
	Assignments Assignments
	Writer      Writer
	// Queues say which actions only one cluster may run: those wait for it.
	Queues *queues.Set
	// Elsewhere reports whether a cluster other than that of an assignment takes new work and reaches its data.
	Elsewhere func(of *enginev1.Assignment) bool
	// MaxSystemFailures is how many attempts the system may lose of one action, in addition to the task's own retries.
	MaxSystemFailures int32
	// Taken is called with how many attempts were taken back from a cluster, the code of the reason, and whether they had not begun.
	Taken  func(ctx context.Context, cluster, reason string, waiting bool, attempts int)
	Leases leased.Leases
	Clock  clock.Clock
	Logger zerolog.Logger
}

// Loop takes attempts back while it holds its lease.
type Loop struct {
	lifecycle.Background
	config   Config
	deps     Deps
	reporter attempts.Reporter
}

var _ lifecycle.Part = (*Loop)(nil)

// New returns the loop; it does nothing before Start.
func New(config Config, deps Deps) *Loop {
	return &Loop{config: config, deps: deps, reporter: attempts.Reporter{
		Source: "runs", Clock: deps.Clock, Budget: verdict.Budget{MaxSystemFailures: deps.MaxSystemFailures},
	}}
}

// Start implements lifecycle.Part.
func (l *Loop) Start(ctx context.Context) error {
	return l.Run(l.deps.Logger.WithContext(ctx), leased.While(l.deps.Leases, LeaseName, l.config.Lease, l.work))
}

func (l *Loop) work(ctx context.Context) error {
	seen := newWatch(l.config)
	return leased.Every(l.deps.Clock, l.config.Poll, func(ctx context.Context) error { return l.pass(ctx, seen) })(ctx)
}

// pass looks at the clusters and takes back what must not wait for them.
func (l *Loop) pass(ctx context.Context, seen *watch) error {
	all, err := l.deps.Clusters.All(ctx)
	if err != nil {
		return err //nolint:wrapcheck // it says what it could not read
	}
	now := l.deps.Clock.Now()
	seen.look(all, now)
	for _, one := range all {
		if !othersTake(all, one.Name, now) {
			continue // Nothing is gained if nothing else can run it.
		}
		if err := l.takeBack(ctx, one, seen, now); err != nil {
			return err
		}
	}
	return nil
}

// othersTake reports whether a cluster other than the named one takes new work.
func othersTake(all []states.State, name string, now time.Time) bool {
	for _, one := range all {
		if one.Name != name && one.Known() && one.Takes(now) {
			return true
		}
	}
	return false
}

func (l *Loop) takeBack(ctx context.Context, from states.State, seen *watch, now time.Time) error {
	everything := worklists.Placed{Cluster: from.Name}
	waiting := worklists.Placed{Cluster: from.Name, Waiting: true}
	lastSeen := "it was last seen " + verdict.Round(now.Sub(from.SeenAt).Round(time.Second)) + " ago"
	switch {
	case seen.isLost(from.Name, l.config.LostAfter):
		return l.all(ctx, from, everything, failure.New(failure.ClusterLost, "cluster %s: %s", from.Name, lastSeen))
	case seen.isAway(from.Name):
		return l.all(ctx, from, waiting, failure.New(failure.ClusterLost, "cluster %s: %s, and the attempt had not begun there", from.Name, lastSeen))
	case from.State == states.Removed:
		return l.all(ctx, from, everything, failure.New(failure.ClusterLost, "cluster %s was removed", from.Name))
	case from.State == states.Draining && !from.Until.IsZero() && now.After(from.Until.Add(lag)):
		return l.all(ctx, from, everything, failure.New(failure.ClusterDrained, "cluster %s was to be empty by %s", from.Name, from.Until.UTC().Format(time.RFC3339)))
	case from.State != states.Ready && now.After(from.At.Add(lag)):
		// No more workers start there, so what waits for one would wait for those that are left.
		waiting.Pooled = true
		return l.all(ctx, from, waiting, failure.New(failure.ClusterDrained, "cluster %s takes no new work, and no worker there had begun the attempt", from.Name))
	}
	return nil
}

// all takes back attempts on a cluster in batches, until there are none or the reason has passed.
func (l *Loop) all(ctx context.Context, from states.State, which worklists.Placed, why *failure.Failure) error {
	total := 0
	for after := (schema.Ref{}); ; {
		refs, err := l.deps.Reader.OnCluster(ctx, which, after, l.config.Batch)
		if err != nil || len(refs) == 0 {
			l.say(from.Name, why, total)
			return err //nolint:wrapcheck // it says what it could not read
		}
		after = refs[len(refs)-1]
		ended, err := l.some(ctx, from, which.Waiting, refs, why)
		if err != nil {
			return err
		}
		total += ended
		if ended > 0 {
			l.deps.Taken(ctx, from.Name, why.Code, which.Waiting, ended)
		}
		failpoint.Here("reclaim.after-batch")
		still, err := l.still(ctx, from, why)
		if err != nil || !still {
			l.say(from.Name, why, total)
			return err
		}
	}
}

// still reports whether a cluster is as it was when the batches began. Many batches take a while, in which a cluster that was away
// may come back with what it runs.
func (l *Loop) still(ctx context.Context, from states.State, why *failure.Failure) (bool, error) {
	all, err := l.deps.Clusters.All(ctx)
	if err != nil {
		return false, err //nolint:wrapcheck // it says what it could not read
	}
	for _, one := range all {
		if one.Name == from.Name {
			heard := one.SeenAt.After(from.SeenAt) && from.State != states.Removed
			back := heard && failure.Reason(why.Code) == failure.ClusterLost
			return one.State == from.State && !back, nil
		}
	}
	return true, nil // it is no longer registered
}

func (l *Loop) say(cluster string, why *failure.Failure, total int) {
	if total > 0 {
		l.deps.Logger.Warn().Str("cluster", cluster).Int("attempts", total).Str("reason", why.Code).Msg("attempts were taken back from the cluster")
	}
}

// bound reports whether nothing but its cluster could run an action: its queue names the cluster, or no other one reaches its data.
func (l *Loop) bound(of *enginev1.Assignment) bool {
	return l.deps.Queues.Of(of.GetTask().GetQueue()).Cluster == of.GetCluster() || !l.deps.Elsewhere(of)
}

func (l *Loop) some(ctx context.Context, from states.State, waiting bool, refs []schema.Ref, why *failure.Failure) (int, error) {
	ids := make([]int64, len(refs))
	byID := make(map[int64]schema.Ref, len(refs))
	for i, ref := range refs {
		ids[i], byID[ref.ID] = ref.ID, ref
	}
	assigned, err := l.deps.Assignments.Get(ctx, from.Name, ids, false)
	if err != nil {
		return 0, err //nolint:wrapcheck // it says what it could not read
	}
	lost := make([]store.Reclaim, 0, len(assigned))
	for _, one := range assigned {
		if from.State != states.Draining && from.State != states.Removed && l.bound(one) {
			continue
		}
		reclaim, err := l.reclaim(byID[one.GetRef().GetUid()], one, waiting, why)
		if err != nil {
			return 0, err
		}
		lost = append(lost, reclaim)
	}
	return l.deps.Writer.Reclaim(ctx, lost) //nolint:wrapcheck // it says what it could not write
}
