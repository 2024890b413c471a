package blobstore

import (
	"bytes"
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// hung is a disk whose calls wait for the test and follow no context, like those to a file server that is gone.
type hung struct {
	backend
	called  chan struct{}
	release chan struct{}
	closed  atomic.Int32
}

func (h *hung) open(context.Context, string) (io.ReadCloser, error) {
	h.called <- struct{}{}
	<-h.release
	return &closeCounter{bytes.NewReader([]byte("late")), &h.closed}, nil
}

type closeCounter struct {
	io.Reader
	closed *atomic.Int32
}

func (c *closeCounter) Close() error {
	c.closed.Add(1)
	return nil
}

// A call to a disk cannot be ended. Those who call are answered, and no more than the allowed number keep a thread.
func TestCallsToAHungDiskAreLeftAlone(t *testing.T) {
	disk := &hung{called: make(chan struct{}, 2), release: make(chan struct{})}
	clk := clock.NewFake(time.Unix(1000, 0))
	b := &bounded{backend: disk, limit: time.Minute, clock: clk, slots: make(chan struct{}, 1)}
	opened := make(chan error, 1)
	open := func() {
		_, err := b.open(t.Context(), "x")
		opened <- err
	}
	go open()
	<-disk.called
	clk.Step(time.Minute)
	require.ErrorIs(t, <-opened, ErrNoAnswer)

	go open()
	require.Eventually(t, func() bool { return clk.Timers() == 1 }, 10*time.Second, time.Millisecond)
	clk.Step(time.Minute)
	require.ErrorContains(t, <-opened, "1 calls wait for it")
	require.Empty(t, disk.called, "the second call did not reach the disk")

	close(disk.release)
	require.Eventually(t, func() bool { return disk.closed.Load() == 1 }, 10*time.Second, time.Millisecond, "what was opened too late is closed")
	r, err := b.open(t.Context(), "x")
	require.NoError(t, err)
	body, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "late", string(body))
	require.NoError(t, r.Close())
}
