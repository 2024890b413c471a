package leader_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/internal/kubetest"
	"github.com/flyte-binary/flyte-binary/manager/leader"
)

const deadline = 20 * time.Second

// works counts the running work of all replicas.
type works struct {
	mu      sync.Mutex
	running map[string]int // GUARDED_BY(mu): by replica
	most    int            // GUARDED_BY(mu): how many replicas worked at once
}

func (w *works) change(replica string, by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running == nil {
		w.running = map[string]int{}
	}
	if w.running[replica] += by; w.running[replica] == 0 {
		delete(w.running, replica)
	}
	w.most = max(w.most, len(w.running))
}

func (w *works) of(replica string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running[replica]
}

// candidate is a replica with two pieces of work that are slow to stop.
func candidate(t *testing.T, cluster *kubetest.Cluster, name string, w *works) *leader.Election {
	t.Helper()
	election, err := leader.New(leader.Config{Namespace: cluster.Namespace, Name: "controller", Duration: 3 * time.Second},
		leader.Deps{Kubernetes: cluster.Config, Identity: name, Logger: zerolog.New(zerolog.NewTestWriter(t))})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			election.While(ctx, func(ctx context.Context) {
				w.change(name, 1)
				defer w.change(name, -1)
				<-ctx.Done()
			})
		})
	}
	require.NoError(t, election.Start(t.Context()))
	t.Cleanup(func() {
		require.NoError(t, election.Stop(context.Background()))
		cancel()
		group.Wait()
	})
	return election
}

// Story R27: aborts lived in the memory of one process, and a second replica did all work twice.
func TestAllWorkIsOnTheReplicaThatLeads(t *testing.T) {
	cluster, w := kubetest.New(t), &works{}
	first := candidate(t, cluster, "first", w)
	require.Eventually(t, func() bool { return w.of("first") == 2 }, deadline, time.Millisecond)
	candidate(t, cluster, "second", w)
	require.Never(t, func() bool { return w.of("second") > 0 }, time.Second, 10*time.Millisecond)

	require.NoError(t, first.Stop(t.Context()))
	require.Zero(t, w.of("first"), "the replica stopped both")
	require.Eventually(t, func() bool { return w.of("second") == 2 }, deadline, time.Millisecond)
	require.Equal(t, 1, w.most, "the lease was released after the work had stopped")
}

func TestAReplicaThatLosesTheLeaseStopsAllWork(t *testing.T) {
	cluster, w := kubetest.New(t), &works{}
	candidate(t, cluster, "first", w)
	require.Eventually(t, func() bool { return w.of("first") == 2 }, deadline, time.Millisecond)

	leases := cluster.Clientset.CoordinationV1().Leases(cluster.Namespace)
	require.Eventually(t, func() bool { // as if this replica had slept for longer than its lease, and another one had taken it
		lease, err := leases.Get(t.Context(), "controller", metav1.GetOptions{})
		require.NoError(t, err)
		other, now := "other", metav1.NowMicro()
		lease.Spec.HolderIdentity, lease.Spec.RenewTime = &other, &now
		_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
		return err == nil
	}, deadline, time.Millisecond)
	require.Eventually(t, func() bool { return w.of("first") == 0 }, deadline, time.Millisecond)
	require.Eventually(t, func() bool { return w.of("first") == 2 }, deadline, 10*time.Millisecond, "it leads again when the other one is gone")
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
