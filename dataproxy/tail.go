package dataproxy

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"connectrpc.com/connect"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/blob/storedlog"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// tail sends the log of one container, each line once. Both sources of the log, the pod and the stored copy, begin with
// the same first line, so that a position is the number of lines sent.
type tail struct {
	svc       *Service
	container container
	action    *common.ActionIdentifier
	attempt   uint32
	cluster   string
	sealed    string // the stored copy; empty when there is none for this container
	out       *logSink

	delivered int
}

// run sends until the log has ended. When the pod vanishes it continues with the stored copy, which appears shortly
// after.
func (t *tail) run(ctx context.Context) error {
	sealWait := t.svc.config.Logs.SealWait
	var deadline time.Time
	for {
		before, began := t.delivered, t.svc.clock.Now()
		liveErr := t.live(ctx)
		if liveErr == nil || ctx.Err() != nil || !gone(liveErr) {
			return liveErr
		}
		if now := t.svc.clock.Now(); deadline.IsZero() || t.delivered > before || now.Sub(began) > sealWait {
			deadline = now.Add(sealWait) // it worked until now
		}
		found, err := t.stored(ctx)
		switch {
		case err != nil || found:
			return err
		case t.delivered == 0 && rpc.IsNotFound(liveErr):
			// The client retries by itself.
			return rpc.NotFound("the log of container %s is not available yet, or was not stored", t.container.name)
		case t.svc.clock.Now().After(deadline):
			return unreadable(liveErr, t.delivered)
		case clock.Sleep(ctx, t.svc.clock, t.svc.config.Logs.SealPoll) != nil:
			return ctx.Err()
		}
	}
}

// unreadable is the error for a log that can be read nowhere for now, or no longer. Why a cluster cannot be reached is for the reader.
func unreadable(live error, delivered int) error {
	if said := (*connect.Error)(nil); rpc.KindOf(live) == rpc.KindUnavailable && errors.As(live, &said) && strings.HasPrefix(said.Message(), "cluster ") {
		return rpc.Unavailable(live, "%s", said.Message())
	}
	return rpc.Unavailable(live, "the log ended unexpectedly after %d lines and was not stored", delivered)
}

// gone reports whether the log may be available elsewhere or later.
func gone(err error) bool {
	switch rpc.KindOf(err) {
	case rpc.KindNotFound, rpc.KindUnavailable, rpc.KindCanceled, rpc.KindInternal, rpc.KindDeadlineExceeded, rpc.KindUnimplemented:
		return true
	default:
		return false
	}
}

// live follows the pod's log. nil means that the container has ended and all was sent.
func (t *tail) live(ctx context.Context) error {
	if t.container.namespace == "" && t.container.name == blobpath.JobLog && t.svc.deps.Jobs != nil {
		return t.job(ctx)
	}
	if t.container.namespace == "" { // of an attempt that shares the pod of a worker, which stores the log of each
		return rpc.NotFound("the attempt does not have its own pod")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := t.svc.deps.PodLogs(cmp.Or(t.cluster, ident.DefaultCluster)).TailContainer(ctx, &enginev1.TailContainerRequest{
		Namespace: t.container.namespace, Pod: t.container.pod, Container: t.container.name, Follow: true,
	})
	if err != nil {
		return err
	}
	defer stream.Close() //nolint:errcheck // nothing is written
	skip := t.delivered
	for stream.Receive() {
		lines := stream.Msg().GetLines()
		known := min(skip, len(lines))
		skip -= known
		if err := t.deliver(lines[known:]); err != nil {
			return err
		}
	}
	return stream.Err()
}

// errClient marks a failure of the client's end, after which no source helps.
var errClient = errors.New("the client is too slow: it does not read the stream")

func (t *tail) deliver(lines []*dataplane.LogLine) error {
	if len(lines) == 0 {
		return nil
	}
	for _, line := range lines {
		line.Message += "\n" // clients print messages one after the other as they are
		if line.GetOriginator() == dataplane.LogLineOriginator_UNKNOWN {
			line.Originator = dataplane.LogLineOriginator_USER
		}
	}
	err := t.out.lines(lines, &dataplane.ContainerIdentifier{
		ClusterName: t.cluster, KubernetesNamespace: t.container.namespace,
		KubernetesPodName: t.container.pod, KubernetesContainerName: t.container.name,
	})
	if err != nil {
		return &rpc.Error{Kind: rpc.KindAborted, Message: errClient.Error(), Err: err}
	}
	t.delivered += len(lines)
	return nil
}

// stored sends the rest from the stored copy; false when there is none yet.
func (t *tail) stored(ctx context.Context) (bool, error) {
	if t.sealed == "" {
		return false, nil
	}
	object, err := t.svc.deps.Store.NewReader(ctx, t.sealed)
	switch {
	case errors.Is(err, blobstore.ErrNotExist), errors.Is(err, blobstore.ErrForbiddenPath):
		return false, nil
	case err != nil:
		return false, storeError(err, "", t.sealed)
	}
	defer object.Close()
	skip := t.delivered
	err = storedlog.Read(object, t.svc.config.Logs.BatchLines, func(lines []*dataplane.LogLine) error {
		known := min(skip, len(lines))
		skip -= known
		return t.deliver(lines[known:])
	})
	return true, err
}
