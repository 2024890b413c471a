package bridge

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/rs/zerolog"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// election decides which replica is active.
type election struct {
	config   ElectionConfig
	identity string
	client   kubernetes.Interface
	logger   zerolog.Logger
}

func newElection(config ElectionConfig, identity string, kube *rest.Config, logger zerolog.Logger) (*election, error) {
	e := &election{config: config, identity: identity, logger: logger}
	if !config.Enabled {
		return e, nil
	}
	client, err := kubernetes.NewForConfig(kube)
	if err != nil {
		return nil, fmt.Errorf("make Kubernetes client: %w", err)
	}
	e.client = client
	if e.identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("read host name: %w", err)
		}
		e.identity = host + "-" + rand.Text()
	}
	return e, nil
}

// whileHeld calls work whenever this replica is active, with a context that ends when it is not any more, and
// waits for work before it tries again. It returns when ctx ends.
func (e *election) whileHeld(ctx context.Context, work func(context.Context)) {
	if !e.config.Enabled {
		work(ctx)
		return
	}
	for ctx.Err() == nil {
		e.once(ctx, work)
	}
}

func (e *election) once(ctx context.Context, work func(context.Context)) {
	lock := &watchedLock{Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: e.config.Namespace, Name: e.config.Name},
		Client:     e.client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: e.identity},
	}}
	e.ensureNamespace(ctx)
	done := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name:            e.config.Name,
		Lock:            lock,
		LeaseDuration:   e.config.Duration,
		RenewDeadline:   e.config.Duration * 2 / 3,
		RetryPeriod:     e.config.Duration / 6,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				defer close(done)
				e.logger.Info().Str("identity", e.identity).Msg("this replica bridges assignments")
				work(ctx)
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		// Only a wrong configuration makes an error, and Validate has seen it.
		e.logger.Error().Err(err).Msg("the election cannot be held")
		<-ctx.Done()
		return
	}
	elector.Run(ctx)
	if lock.held.Load() {
		<-done // the elector starts the work without waiting for it
	}
}

// ensureNamespace makes the namespace of the Lease. A failure shows when the Lease cannot be taken.
func (e *election) ensureNamespace(ctx context.Context) {
	namespaces := e.client.CoreV1().Namespaces()
	if _, err := namespaces.Get(ctx, e.config.Namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return
	}
	_, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.config.Namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		e.logger.Warn().Err(err).Str("namespace", e.config.Namespace).Msg("the namespace of the lease could not be made")
	}
}

// watchedLock remembers whether the lease was ever taken.
type watchedLock struct {
	resourcelock.Interface
	held atomic.Bool
}

// Create implements resourcelock.Interface.
func (l *watchedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.remember(record, l.Interface.Create(ctx, record))
}

// Update implements resourcelock.Interface.
func (l *watchedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.remember(record, l.Interface.Update(ctx, record))
}

func (l *watchedLock) remember(record resourcelock.LeaderElectionRecord, err error) error {
	if err == nil && record.HolderIdentity == l.Identity() {
		l.held.Store(true)
	}
	return err
}
