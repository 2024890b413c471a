package outgoing

import (
	"context"
	"errors"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// maxTails is how many logs a controller sends at once.
	maxTails = 64
	// batchBytes and batchLines bound one request, except for a line that alone is larger.
	batchBytes, batchLines = 256 << 10, 1000
	// readAhead is how many messages of the log are read while one request is on its way.
	readAhead = 8
	// sign is how often a log without new lines sends a sign of life.
	sign = 10 * time.Second
	// sendLimit bounds one request, and patience all tries of one.
	sendLimit, patience = 30 * time.Second, time.Minute
	// crowded is the pause before a request for which there was no room.
	crowded = 50 * time.Millisecond
)

// errUnread says that the reader of a log has left.
var errUnread = errors.New("the reader of the log has left")

// start sends a log that was ordered, unless it is being sent.
func (s *Service) start(ctx context.Context, order *clustersv1.TailOrder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, sent := s.tails[order.GetTail()]; sent {
		return
	}
	t := &sending{Service: s, id: order.GetTail(), request: order.GetRequest()}
	t.refused = len(s.tails) >= maxTails
	s.tails[t.id] = struct{}{}
	s.sent.Go(func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.tails, t.id)
		}()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if err := t.run(ctx); err != nil && !errors.Is(err, errUnread) && ctx.Err() == nil {
			s.deps.Logger.Warn().Err(err).Str("pod", t.request.GetPod()).Msg("a log could not be sent to the API")
		}
	})
}

// sending is a log that is sent. It is used by one goroutine.
type sending struct {
	*Service
	id       string
	request  *enginev1.TailContainerRequest
	refused  bool // there are too many
	sequence int64
}

// run sends the log to its end.
func (t *sending) run(ctx context.Context) error {
	if t.refused {
		return t.finish(ctx, rpc.ResourceExhausted("the controller sends as many logs as it may; try again later"))
	}
	if err := t.send(ctx, nil, nil); err != nil { // the order has arrived
		return err
	}
	messages, ended := make(chan []*dataplane.LogLine, readAhead), make(chan error, 1)
	go func() {
		defer close(messages)
		ended <- t.read(ctx, messages)
	}()
	for {
		timer := t.deps.Clock.NewTimer(sign)
		var lines []*dataplane.LogLine
		open := true
		select {
		case lines, open = <-messages:
		case <-timer.C():
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !open {
			return t.finish(ctx, <-ended)
		}
		if err := t.sendAll(ctx, gather(lines, messages)); err != nil {
			return err
		}
	}
}

// read passes on the messages of the log.
func (t *sending) read(ctx context.Context, to chan<- []*dataplane.LogLine) error {
	log, err := t.deps.Logs.TailContainer(ctx, t.request)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // nothing is written
	for log.Receive() {
		select {
		case to <- log.Msg().GetLines():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return log.Err()
}

// gather adds what was read ahead.
func gather(lines []*dataplane.LogLine, messages <-chan []*dataplane.LogLine) []*dataplane.LogLine {
	for len(lines) > 0 && len(lines) < batchLines {
		select {
		case more := <-messages: // nothing once it is closed
			if more == nil {
				return lines
			}
			lines = append(lines, more...)
		default:
			return lines
		}
	}
	return lines
}

// sendAll sends lines in requests of bounded size; without lines, a sign of life.
func (t *sending) sendAll(ctx context.Context, lines []*dataplane.LogLine) error {
	for {
		n, size := 0, 0
		for n < len(lines) && n < batchLines {
			if size += proto.Size(lines[n]); n > 0 && size > batchBytes {
				break
			}
			n++
		}
		if err := t.send(ctx, lines[:n], nil); err != nil {
			return err
		}
		if lines = lines[n:]; len(lines) == 0 {
			return nil
		}
	}
}

// finish sends the end of the log.
func (t *sending) finish(ctx context.Context, err error) error {
	end := &clustersv1.LogEnd{}
	if err != nil {
		end.Code, end.Message = uint32(rpc.KindOf(err).Code()), message(err)
	}
	return t.send(ctx, nil, end)
}

// message is the text of an error without its code.
func message(err error) string {
	text := err.Error()
	var known *connect.Error
	if errors.As(err, &known) {
		text = known.Message()
	}
	return strings.ToValidUTF8(text[:min(len(text), 2000)], "")
}

// send sends one request until it is taken. It returns errUnread once the reader has left.
func (t *sending) send(ctx context.Context, lines []*dataplane.LogLine, end *clustersv1.LogEnd) error {
	request := &clustersv1.SendLogRequest{Cluster: t.deps.Cluster, Tail: t.id, Sequence: t.sequence, Lines: lines, End: end}
	retries, failing := backoff.New(100*time.Millisecond, 5*time.Second), time.Time{}
	for {
		limited, cancel := context.WithTimeout(ctx, sendLimit)
		response, err := t.deps.API.SendLog(limited, request)
		cancel()
		now, pause := t.deps.Clock.Now(), crowded
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (final(err) || !failing.IsZero() && now.Sub(failing) > patience):
			return err
		case err != nil:
			if failing.IsZero() {
				failing = now
			}
			pause = retries.Next()
		case response.GetStop():
			return errUnread
		case !response.GetAgain():
			t.sequence++
			return nil
		default:
			failing = time.Time{}
		}
		if err := clock.Sleep(ctx, t.deps.Clock, pause); err != nil {
			return err
		}
	}
}

// final reports whether an error of the API will be the same for each repetition.
func final(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeInvalidArgument, connect.CodePermissionDenied, connect.CodeUnimplemented, connect.CodeOutOfRange:
		return true
	default:
		return false
	}
}
