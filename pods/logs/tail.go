package logs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// batchLines is the most lines in one message. Fewer are sent as soon as no more are available.
	batchLines = 200
	// startPause is how often a follower looks whether the container has started.
	startPause = 500 * time.Millisecond
	// statusLag is how long the status of a container may take to show that it ended, after its log did.
	statusLag = 2 * time.Second
	// statusPause is the pause between two looks at that status.
	statusPause = 100 * time.Millisecond
)

// Service serves PodLogService.
type Service struct {
	config Config
	pods   corev1client.PodsGetter
	clock  clock.Clock
}

var _ enginev1connect.PodLogServiceHandler = (*Service)(nil)

// NewService returns the service.
func NewService(config Config, pods corev1client.PodsGetter, clk clock.Clock) *Service {
	return &Service{config: config, pods: pods, clock: clk}
}

// TailContainer implements PodLogService. It reads only pods that flyte-binary manages.
func (s *Service) TailContainer(
	ctx context.Context, request *enginev1.TailContainerRequest, out *connect.ServerStream[enginev1.TailContainerResponse],
) error {
	pod, err := s.pods.Pods(request.GetNamespace()).Get(ctx, request.GetPod(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return rpc.NotFound("pod %s does not exist", request.GetPod())
	case err != nil:
		return rpc.Unavailable(err, "read pod %s", request.GetPod())
	case pod.Labels[v1.LabelManaged] != v1.ManagedValue:
		return rpc.NotFound("pod %s does not exist", request.GetPod())
	}
	log, err := s.open(ctx, request)
	if err != nil || log == nil {
		return err
	}
	defer log.Close()
	if err := s.copy(ctx, log, out); err != nil || !request.GetFollow() {
		return err
	}
	return s.ended(ctx, request)
}

// ended returns an error if the container still runs: then its log broke off. A kubelet or an API server that restarts
// ends the stream without an error.
func (s *Service) ended(ctx context.Context, request *enginev1.TailContainerRequest) error {
	for deadline := s.clock.Now().Add(statusLag); ; {
		pod, err := s.pods.Pods(request.GetNamespace()).Get(ctx, request.GetPod(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return rpc.Unavailable(err, "read pod %s", request.GetPod())
		case !runs(pod, request.GetContainer()):
			return nil
		case s.clock.Now().After(deadline):
			return rpc.Unavailable(nil, "the log stream of pod %s ended while its container is running", request.GetPod())
		}
		if err := clock.Sleep(ctx, s.clock, statusPause); err != nil {
			return err
		}
	}
}

// runs reports whether a container of the pod runs, according to the pod's status.
func runs(pod *corev1.Pod, container string) bool {
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if status.Name == container {
			return status.State.Running != nil
		}
	}
	return false
}

// open opens the log, which waits for the start of the container when it is to be followed. A container that has not
// started has no log: nil without error.
func (s *Service) open(ctx context.Context, request *enginev1.TailContainerRequest) (io.ReadCloser, error) {
	options := &corev1.PodLogOptions{Container: request.GetContainer(), Follow: request.GetFollow(), Timestamps: true}
	if lines := request.GetTailLines(); lines > 0 {
		options.TailLines = &lines
	}
	deadline := s.clock.Now().Add(s.config.WaitForStart)
	for {
		log, err := s.pods.Pods(request.GetNamespace()).GetLogs(request.GetPod(), options).Stream(ctx)
		switch {
		case err == nil:
			return log, nil
		case apierrors.IsNotFound(err):
			return nil, rpc.NotFound("the log of pod %s no longer exists", request.GetPod())
		case !notStarted(err):
			return nil, rpc.Unavailable(err, "read log of pod %s", request.GetPod())
		case !request.GetFollow() || s.clock.Now().After(deadline):
			return nil, nil //nolint:nilnil // there is no log yet
		}
		if err := clock.Sleep(ctx, s.clock, startPause); err != nil {
			return nil, err
		}
	}
}

// notStarted recognizes the API server's refusal to read the log of a container that waits, or of a pod without a node.
func notStarted(err error) bool {
	if !apierrors.IsBadRequest(err) {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "waiting to start") || strings.Contains(text, "is not running") ||
		strings.Contains(text, "does not have a host assigned")
}

// copy sends lines in batches, never holding one back to wait for the next.
func (s *Service) copy(ctx context.Context, log io.Reader, out *connect.ServerStream[enginev1.TailContainerResponse]) error {
	lines, failure := make(chan *dataplane.LogLine, batchLines), make(chan error, 1)
	done := make(chan struct{})
	defer close(done)
	go func() { failure <- read(log, lines, done) }()
	for line := range lines {
		batch := []*dataplane.LogLine{line}
		for more := true; more && len(batch) < batchLines; {
			select {
			case next, open := <-lines:
				if more = open; open {
					batch = append(batch, next)
				}
			default:
				more = false
			}
		}
		if err := out.Send(&enginev1.TailContainerResponse{Lines: batch}); err != nil {
			return fmt.Errorf("send log: %w", err)
		}
	}
	if err := <-failure; err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return rpc.Unavailable(err, "the log stream ended unexpectedly")
	}
	return nil
}
