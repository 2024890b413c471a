package logs

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// Store is where logs are kept. Ending the context before Close discards the object.
type Store interface {
	NewWriter(ctx context.Context, uri string) (io.WriteCloser, error)
}

// Sealer copies logs into the object store: each line as the kubelet gives it, a time in RFC 3339 with nanoseconds, a
// space, the text.
type Sealer struct {
	config Config
	pods   corev1client.PodsGetter
	store  Store
}

// NewSealer returns a sealer.
func NewSealer(config Config, pods corev1client.PodsGetter, store Store) *Sealer {
	return &Sealer{config: config, pods: pods, store: store}
}

// Seal keeps the log of a container as an object. A missing pod is not an error. A followed log is kept as far as it
// was read, whatever ends it.
func (s *Sealer) Seal(ctx context.Context, log plugin.Log, uri string) error {
	_, err := s.Keep(ctx, log, uri)
	return err
}

// Keep is Seal for callers who must know whether there is an object: a missing pod or run has none.
func (s *Sealer) Keep(ctx context.Context, log plugin.Log, uri string) (kept bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.SealTimeout)
	defer cancel()
	options := &corev1.PodLogOptions{Container: log.Container, Timestamps: true, Follow: log.Follow, Previous: log.Previous, LimitBytes: &s.config.MaxBytes}
	stream, err := s.pods.Pods(log.Namespace).GetLogs(log.Pod, options).Stream(ctx)
	if err != nil {
		if apierrors.IsNotFound(err) || log.Previous && apierrors.IsBadRequest(err) { // the node has removed it
			return false, nil
		}
		return false, fmt.Errorf("read log of %s/%s: %w", log.Pod, log.Container, err)
	}
	defer stream.Close()
	writing, abandon := context.WithCancel(ctx)
	defer abandon()
	failpoint.Here("seal.before-write")
	object, err := s.store.NewWriter(writing, uri)
	if err != nil {
		return false, fmt.Errorf("keep log: %w", err)
	}
	if _, err := io.Copy(object, stream); err != nil && (!log.Follow || ctx.Err() != nil) {
		abandon()
		_ = object.Close() // It reports that it was discarded.
		return false, fmt.Errorf("keep log of %s/%s: %w", log.Pod, log.Container, err)
	}
	if err := object.Close(); err != nil {
		return false, fmt.Errorf("keep log: %w", err)
	}
	failpoint.Here("seal.after-write")
	return true, nil
}
