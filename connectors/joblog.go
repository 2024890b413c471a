package connectors

import (
	"context"
	"errors"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/connectors/store"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/text/redact"
)

const (
	// maxPages is how many pages of a log are read at once.
	maxPages = 10_000
	// tailPause is the pause before new lines are asked for.
	tailPause = 2 * time.Second
	// askAgain is after what time a connector that had no logs for a type of task is asked again.
	askAgain = 10 * time.Minute
)

// joblog reads the log of a job, from where it stopped. Its pages come one after the other; the last one can grow.
type joblog struct {
	remote *remote
	job    *store.Job
	hidden *redact.Values
	// token is of the page that is read next; seen is how many of its lines were delivered.
	token string
	seen  int
}

// more delivers the lines that are new.
func (l *joblog) more(ctx context.Context, deliver func([]*dataplane.LogLine) error) error {
	for range maxPages {
		following, err := l.page(ctx, deliver)
		if err != nil || following == "" || following == l.token {
			return err
		}
		l.token, l.seen = following, 0
	}
	return nil
}

// page delivers what is new of a page, and returns the token of the page that follows; empty if there is none yet.
func (l *joblog) page(ctx context.Context, deliver func([]*dataplane.LogLine) error) (following string, err error) {
	stream, err := l.remote.jobs.GetTaskLogs(ctx, &connectorv2.GetTaskLogsRequest{
		ResourceMeta: l.job.Meta, TaskCategory: category(l.job), Token: l.token,
	})
	if err != nil {
		return "", err
	}
	defer stream.Close() //nolint:errcheck // nothing is written
	passed := 0
	for stream.Receive() {
		if header := stream.Msg().GetHeader(); header != nil {
			following = header.GetToken()
		}
		lines := linesOf(stream.Msg().GetBody())
		known := min(len(lines), max(l.seen-passed, 0))
		passed += len(lines)
		lines = lines[known:]
		for _, line := range lines {
			line.Message = l.hidden.Text(redact.Tokens(strings.ToValidUTF8(strings.TrimRight(line.GetMessage(), "\r\n"), "\uFFFD")))
		}
		if len(lines) > 0 {
			if err := deliver(lines); err != nil {
				return "", err
			}
		}
		l.seen = max(l.seen, passed)
	}
	return following, stream.Err()
}

// linesOf are the lines of a message. Older connectors send texts.
func linesOf(body *connectorv2.GetTaskLogsResponseBody) []*dataplane.LogLine {
	lines := body.GetLines()
	if len(lines) == 0 {
		for _, text := range body.GetResults() { //nolint:staticcheck // deprecated, and still sent
			lines = append(lines, &dataplane.LogLine{Message: text})
		}
	}
	return lines
}

// log is the log of a job from its first line.
func (w *worker) log(ctx context.Context, j *store.Job) (*joblog, error) {
	given, err := w.connection(ctx, j, j.Secrets, false)
	if err != nil {
		return nil, err
	}
	return &joblog{remote: w.remote, job: j, hidden: w.remote.hidden(given)}, nil
}

// errEnough ends a call whose answer is known.
var errEnough = errors.New("enough")

// asksForLog finds out whether the connector has logs of jobs of this type, unless it is known. One that does not answer in time
// counts as one without logs until askAgain has passed: each look at each job would wait for it otherwise.
func (w *worker) asksForLog(ctx context.Context, j *store.Job) {
	if j.Stage < store.Created || len(j.Meta) == 0 || !w.logged.stale(w.remote.Name, j.TaskType, w.deps.Clock.Now()) {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, min(askWithin, w.config.CallTimeout))
	defer cancel()
	log, err := w.log(bounded, j)
	if err != nil {
		return
	}
	_, err = log.page(bounded, func([]*dataplane.LogLine) error { return errEnough })
	has := err == nil || errors.Is(err, errEnough) || connect.IsWireError(err) && connect.CodeOf(err) == connect.CodeInternal
	if connect.CodeOf(err) == connect.CodeUnavailable || ctx.Err() != nil {
		return // the connector is away, or this process ends
	}
	w.logged.set(w.remote.Name, j.TaskType, has, w.deps.Clock.Now())
}

// logContext says where the log of a job is: in no namespace of a cluster, since no pod has written it. It is nil if there is none.
func (w *worker) logContext(j *store.Job) *core.LogContext {
	if j.Stage < store.Created || !w.logged.has(w.remote.Name, j.TaskType) {
		return nil
	}
	name := "connector-" + w.remote.Name
	return &core.LogContext{PrimaryPodName: name, Pods: []*core.PodLogContext{{
		PodName: name, PrimaryContainerName: blobpath.JobLog, Containers: []*core.ContainerContext{{ContainerName: blobpath.JobLog}},
	}}}
}
