package mcp

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

type readLogsInput struct {
	actionName
	Attempt  int    `json:"attempt,omitempty" jsonschema:"the attempt, from 1; the latest by default"`
	Contains string `json:"contains,omitempty" jsonschema:"only lines with this text"`
	From     int    `json:"from,omitempty" jsonschema:"the first line to return, from 1; by default the last lines are returned"`
	Limit    int    `json:"limit,omitempty" jsonschema:"how many lines to return, up to 1000; 200 by default"`
}

type readLogsOutput struct {
	Attempt uint32    `json:"attempt"`
	Lines   []logLine `json:"lines"`
	// Total counts the lines of the log, as far as it was read.
	Total int `json:"total_lines"`
	// Complete says whether the log was read to its end, and the attempt writes no more.
	Complete bool `json:"complete"`
}

type logLine struct {
	Line int    `json:"line"`
	Time string `json:"time,omitempty"`
	Text string `json:"text"`
}

const (
	// logQuiet is how long the log of a running attempt must be silent to have been read to its end.
	logQuiet = 2 * time.Second
	// maxLog bounds the text that is read, in bytes, and maxLine that of a line.
	maxLog  = 64 << 20
	maxLine = 2000
)

var readLogsTool = reads("read_logs", "Reads the log of an attempt: its last lines, or those from a line, or those with a text.", readLogs)

func readLogs(ctx context.Context, s *session, in readLogsInput) (out readLogsOutput, err error) {
	switch {
	case in.Attempt < 0:
		return out, rpc.InvalidArgument("attempt", "must be positive, or 0 for the latest")
	case in.From < 0:
		return out, rpc.InvalidArgument("from", "must be positive, or 0 for the end of the log")
	}
	out.Attempt = uint32(min(in.Attempt, 1<<20))
	if in.Attempt == 0 {
		details, err := s.runs.GetActionDetails(ctx, &workflow.GetActionDetailsRequest{ActionId: in.id()})
		if err != nil {
			return out, err
		}
		if out.Attempt = details.GetDetails().GetStatus().GetAttempts(); out.Attempt == 0 {
			return out, rpc.FailedPrecondition("action %s has not started, so it has no log", in.id().GetName())
		}
	}
	found := &logWindow{lines: []logLine{}, contains: in.Contains, from: in.From, limit: int(bounded(in.Limit, 200, 1000))}
	out.Complete, err = s.tail(ctx, in, out.Attempt, found)
	out.Lines, out.Total = found.kept(), found.total
	return out, err
}

// tail reads a log into the window. It reports whether it came to the end of a log that has ended.
func (s *session) tail(ctx context.Context, in readLogsInput, attempt uint32, into *logWindow) (complete bool, err error) {
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	stream, err := s.data.TailLogs(reading, &dataproxy.TailLogsRequest{ActionId: in.id(), Attempt: attempt})
	if err != nil {
		return false, err
	}
	defer func() { _ = stream.Close() }() // it has been read as far as it is of interest
	quiet := errors.New("the log is quiet")
	arrived := make(chan struct{}, 1)
	go func() { // stops reading when no line has come for a while
		for {
			timer := s.clock.NewTimer(logQuiet)
			select {
			case <-arrived:
				timer.Stop()
			case <-timer.C():
				stop(quiet)
				return
			case <-reading.Done():
				timer.Stop()
				return
			}
		}
	}()
	for stream.Receive() {
		for _, logs := range stream.Msg().GetLogs() {
			for _, line := range logs.GetLines() {
				into.add(logLine{Time: moment(line.GetTimestamp()), Text: line.GetMessage()})
			}
			if len(logs.GetLines()) > 0 {
				select {
				case arrived <- struct{}{}:
				default:
				}
			}
		}
		if into.bytes > maxLog {
			return false, nil
		}
	}
	if errors.Is(context.Cause(reading), quiet) {
		return false, nil
	}
	return stream.Err() == nil, stream.Err()
}

// logWindow keeps the lines of a log that were asked for.
type logWindow struct {
	contains    string
	from, limit int
	lines       []logLine
	total       int
	bytes       int
}

func (w *logWindow) add(line logLine) {
	w.total++
	w.bytes += len(line.Text)
	line.Line = w.total
	if line.Line < w.from || !strings.Contains(line.Text, w.contains) || w.from > 0 && len(w.lines) == w.limit {
		return
	}
	line.Text = cut(strings.TrimRight(line.Text, "\r\n"), maxLine)
	w.lines = append(w.lines, line)
	if w.from == 0 && len(w.lines) >= 2*w.limit {
		w.lines = append(w.lines[:0], w.lines[len(w.lines)-w.limit:]...)
	}
}

// kept are the lines to return.
func (w *logWindow) kept() []logLine { return w.lines[max(0, len(w.lines)-w.limit):] }
