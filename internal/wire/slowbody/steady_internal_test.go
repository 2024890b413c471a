package slowbody

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// line is a connection whose time is the test's: each read takes a while, and fails if the deadline passes meanwhile.
type line struct {
	now, deadline time.Time
	takes         time.Duration
}

func (l *line) SetReadDeadline(deadline time.Time) error {
	l.deadline = deadline
	return nil
}

func (l *line) Read(p []byte) (int, error) {
	l.now = l.now.Add(l.takes)
	if !l.deadline.IsZero() && l.now.After(l.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return len(p), nil
}

func (l *line) Close() error { return nil }

// upload reads pieces of a size, each of which takes a while to arrive, until the body is ended.
func upload(size, pieces int, takes time.Duration) (arrived int, err error) {
	l := &line{now: time.Unix(0, 0), takes: takes}
	body := &Body{source: l, deadlines: l, grace: 10 * time.Second, now: func() time.Time { return l.now }}
	body.Resume()
	piece := make([]byte, size)
	for range pieces {
		n, err := body.Read(piece)
		arrived += n
		if err != nil {
			return arrived, err
		}
	}
	return arrived, nil
}

func TestASteadyUploadMayTakeLong(t *testing.T) {
	const pieces = 1000 // almost three hours
	for _, takes := range []time.Duration{time.Second, 9 * time.Second} {
		arrived, err := upload(minRate*int(takes/time.Second), pieces, takes)
		require.NoError(t, err, "%s for each piece", takes)
		require.Equal(t, pieces*minRate*int(takes/time.Second), arrived)
	}
}

func TestASlowUploadEnds(t *testing.T) {
	_, err := upload(minRate/2, 1000, time.Second)
	require.ErrorIs(t, err, ErrTooSlow, "half of the rate")
	_, err = upload(1<<20, 2, 11*time.Second)
	require.ErrorIs(t, err, ErrTooSlow, "silent for longer than the grace")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}
