package leader_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/manager/leader"
)

const (
	deadline = 30 * time.Second
	duration = 3 * time.Second
)

// works is the running work of all replicas.
type works struct {
	mu      sync.Mutex
	running [ident.Shards]map[string]int // GUARDED_BY(mu): by shard and replica
	begun   map[string]int               // GUARDED_BY(mu): by replica, how many works ever
	twice   bool                         // GUARDED_BY(mu): two replicas worked on one shard
}

func newWorks() *works {
	w := &works{begun: map[string]int{}}
	for shard := range w.running {
		w.running[shard] = map[string]int{}
	}
	return w
}

func (w *works) change(replica string, shard, by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running[shard][replica] += by; w.running[shard][replica] == 0 {
		delete(w.running[shard], replica)
	}
	if by > 0 {
		w.begun[replica]++
	}
	w.twice = w.twice || len(w.running[shard]) > 1
}

// shards are how many shards each replica has both works of, in descending order, if all shards have an owner.
func (w *works) shards() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := map[string]int{}
	for _, on := range w.running {
		if len(on) != 1 {
			return nil
		}
		for replica, n := range on {
			if n != 2 {
				return nil
			}
			counts[replica]++
		}
	}
	var sorted []int
	for _, count := range counts {
		sorted = append(sorted, count)
	}
	slices.Sort(sorted)
	slices.Reverse(sorted)
	return sorted
}

func (w *works) of(replica string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	count := 0
	for _, on := range w.running {
		count += on[replica]
	}
	return count
}

func (w *works) everBegun(replica string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begun[replica]
}

// fixture is a cluster on whose shards replicas work.
type fixture struct {
	*works
	t       *testing.T
	cluster *kubetest.Cluster
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{newWorks(), t, kubetest.New(t)}
	t.Cleanup(func() { require.False(t, f.twice, "two replicas worked on one shard") })
	return f
}

// replica is one with two works for each shard. While it is cut off, it does not reach the API server.
type replica struct {
	*leader.Election
	cutOff atomic.Bool
}

// RoundTrip makes a cut-off replica fail.
func (r *replica) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if r.cutOff.Load() {
			return nil, errors.New("cut off")
		}
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (f *fixture) start(name string) *replica {
	f.t.Helper()
	r := &replica{}
	kube := rest.CopyConfig(f.cluster.Config)
	kube.Wrap(r.wrap)
	var err error
	r.Election, err = leader.New(leader.Config{Namespace: f.cluster.Namespace, Name: "controller", Duration: duration},
		leader.Deps{Kubernetes: kube, Identity: name, Logger: zerolog.New(zerolog.NewTestWriter(f.t))})
	require.NoError(f.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			r.While(ctx, func(ctx context.Context, shard int) {
				f.change(name, shard, 1)
				defer f.change(name, shard, -1)
				<-ctx.Done()
			})
		})
	}
	require.NoError(f.t, r.Start(f.t.Context()))
	f.t.Cleanup(func() {
		require.NoError(f.t, r.Stop(context.Background()))
		cancel()
		group.Wait()
	})
	return r
}

func (f *fixture) eventually(want ...int) {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return slices.Equal(want, f.shards()) }, deadline, time.Millisecond, "want %v", want)
}

// before is a replica of the version before, which leads alone.
func (f *fixture) before(name string) (*atomic.Bool, func()) {
	leads := &atomic.Bool{}
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: f.cluster.Namespace, Name: "controller"}, Client: f.cluster.Clientset.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: name},
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: duration, RenewDeadline: duration * 2 / 3, RetryPeriod: duration / 6, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) {
					for shard := range ident.Shards {
						f.change(name, shard, 2)
					}
					leads.Store(true)
				},
				OnStoppedLeading: func() {},
			},
		})
	}()
	return leads, sync.OnceFunc(func() {
		if leads.Swap(false) {
			for shard := range ident.Shards {
				f.change(name, shard, -2)
			}
		}
		cancel()
		<-done
	})
}

// Story R27: aborts lived in the memory of one process, and a second replica did all work twice.
func TestReplicasShareTheShards(t *testing.T) {
	f := newFixture(t)
	first := f.start("first")
	f.eventually(16)
	f.start("second")
	f.eventually(8, 8)
	f.start("third")
	f.eventually(6, 5, 5)
	require.Equal(t, 2*ident.Shards, f.everBegun("first"), "what a replica keeps is not interrupted when others join")

	require.NoError(t, first.Stop(t.Context()))
	require.Zero(t, f.of("first"))
	f.eventually(8, 8)
}

// TestTheShardsOfADeadReplicaAreTaken: a replica that no longer reaches the API server stops by itself before others take
// its shards. When it is back it gets its share.
func TestTheShardsOfADeadReplicaAreTaken(t *testing.T) {
	f := newFixture(t)
	first := f.start("first")
	f.start("second")
	f.start("third")
	f.eventually(6, 5, 5)
	kept := f.everBegun("second")
	first.cutOff.Store(true)
	f.eventually(8, 8)
	require.Less(t, f.everBegun("second")-kept, 2*5, "what the others had is not interrupted")
	first.cutOff.Store(false)
	f.eventually(6, 5, 5)
}

// TestAnOutageMovesNothing: when no one reaches the API server for long, all stop, and each continues with the same shards.
func TestAnOutageMovesNothing(t *testing.T) {
	f := newFixture(t)
	first, second := f.start("first"), f.start("second")
	f.eventually(8, 8)
	owned := first.Owned()
	for _, one := range []*replica{first, second} {
		one.cutOff.Store(true)
	}
	require.Eventually(t, func() bool { return f.of("first")+f.of("second") == 0 }, deadline, time.Millisecond)
	for _, one := range []*replica{second, first} {
		one.cutOff.Store(false)
	}
	f.eventually(8, 8)
	require.Equal(t, owned, first.Owned())
}

// TestNothingIsWrittenAfterALateRenewal: what a replica is in the middle of when it freezes ends at the fence, and passes it again after
// the next renewal. Reads pass always.
func TestNothingIsWrittenAfterALateRenewal(t *testing.T) {
	f := newFixture(t)
	one := f.start("one")
	f.eventually(16)
	client, err := kubernetes.NewForConfig(one.Fenced(f.cluster.Config))
	require.NoError(t, err)
	objects := client.CoreV1().ConfigMaps(f.cluster.Namespace)
	write := func() error {
		_, err := objects.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"}}, metav1.CreateOptions{})
		return err
	}
	require.NoError(t, write())
	one.cutOff.Store(true)
	require.Eventually(t, func() bool { return write() != nil }, deadline, time.Millisecond)
	require.ErrorContains(t, write(), "others may own them: nothing is written")
	_, err = objects.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	one.cutOff.Store(false)
	f.eventually(16)
	require.NoError(t, write())
}

// TestTheVersionBeforeNeverWorksAtTheSameTime: its leader has the Lease alone. New replicas wait for it, it waits for them, and it
// leads again when all new replicas have gone.
func TestTheVersionBeforeNeverWorksAtTheSameTime(t *testing.T) {
	f := newFixture(t)
	leads, stop := f.before("old")
	defer stop()
	require.Eventually(t, leads.Load, deadline, time.Millisecond)
	first, second := f.start("first"), f.start("second")
	require.Never(t, func() bool { return f.of("first")+f.of("second") > 0 }, 2*duration, 10*time.Millisecond)
	stop()
	f.eventually(8, 8)

	leads, stopAgain := f.before("old again")
	defer stopAgain()
	first.cutOff.Store(true)
	f.eventually(16)
	first.cutOff.Store(false)
	f.eventually(8, 8)
	require.NoError(t, first.Stop(t.Context()))
	f.eventually(16)
	require.False(t, leads.Load())
	require.NoError(t, second.Stop(t.Context()))
	require.Eventually(t, leads.Load, deadline, time.Millisecond)
	third := f.start("third")
	require.Never(t, func() bool { return f.of("third") > 0 }, 2*duration, 10*time.Millisecond)
	stopAgain()
	f.eventually(16)
	require.Len(t, third.Owned(), ident.Shards)
}

// TestTheUndividedWorkHasOneOwner: it stays where it is when another replica joins.
func TestTheUndividedWorkHasOneOwner(t *testing.T) {
	f := newFixture(t)
	first := f.start("first")
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	where := make(chan string, 10)
	undivided := func(name string, r *replica) {
		group.Go(func() {
			leader.Undivided{Election: r.Election}.While(ctx, func(ctx context.Context) {
				where <- name
				<-ctx.Done()
			})
		})
	}
	undivided("first", first)
	require.Equal(t, "first", <-where)
	undivided("second", f.start("second"))
	f.eventually(8, 8)
	require.Empty(t, where)
	require.NoError(t, first.Stop(t.Context()))
	require.Equal(t, "second", <-where)
}

func TestConfigNamesTheWrongField(t *testing.T) {
	good := leader.Config{Namespace: "n", Name: "l", Duration: 3 * time.Second}
	require.NoError(t, good.Validate())
	for field, spoil := range map[string]func(*leader.Config){
		"namespace": func(c *leader.Config) { c.Namespace = "" },
		"name":      func(c *leader.Config) { c.Name = "" },
		"duration":  func(c *leader.Config) { c.Duration = time.Second },
	} {
		config := good
		spoil(&config)
		require.ErrorContains(t, config.Validate(), field)
	}
}
