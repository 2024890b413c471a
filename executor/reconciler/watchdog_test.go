package reconciler

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestSlowReconcilesAreLoggedAndEnd(t *testing.T) {
	clk := clock.NewFake(time.Unix(1000, 0))
	r := newReconciles(clk, make(Slots, 2))
	_, none := r.longest()
	require.False(t, none)
	slow, end, err := r.begin(t.Context(), "run-a0-12345678")
	require.NoError(t, err)
	concerns(slow, ident.Run{Project: "p", Domain: "d", Name: "run"}.Root())
	done := doing(slow, "advancing attempt 1")
	clk.Step(30 * time.Second)
	_, endOther, err := r.begin(t.Context(), "other")
	require.NoError(t, err)
	require.Empty(t, r.slow(time.Minute))
	clk.Step(30 * time.Second)

	found := r.slow(time.Minute)
	require.Equal(t, []Running{{Action: "p/d/run/a0", Doing: "advancing attempt 1", Age: time.Minute}}, found)
	require.Equal(t, "the reconcile of p/d/run/a0 has run for 1m0s and is advancing attempt 1", found[0].String())
	require.Empty(t, r.slow(time.Minute), "once")
	longest, known := r.longest()
	require.True(t, known)
	require.Equal(t, found[0], longest)
	endOther()
	clk.Step(time.Minute)
	done()
	require.Equal(t, "deciding what to do", r.slow(time.Minute)[0].Doing, "again, with what it does now")

	require.NoError(t, slow.Err())
	clk.Step((endAfter - 2) * time.Minute)
	r.slow(time.Minute)
	require.ErrorIs(t, context.Cause(slow), errSlow)
	end()
	_, known = r.longest()
	require.False(t, known)
}

func TestTheWatchLogsWhatTakesLong(t *testing.T) {
	clk := clock.NewFake(time.Unix(1000, 0))
	r := newReconciles(clk, make(Slots, 1))
	_, end, err := r.begin(t.Context(), "run-a0-12345678")
	require.NoError(t, err)
	defer end()
	logged := make(chan string, 8)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.watch(ctx, time.Minute, zerolog.New(lines(logged)))
	}()
	for range 4 {
		require.Eventually(t, func() bool { return clk.Timers() == 1 }, 10*time.Second, time.Millisecond)
		clk.Step(15 * time.Second)
	}
	line := <-logged
	require.Contains(t, line, "a reconcile takes long")
	require.Contains(t, line, "run-a0-12345678")
	require.Contains(t, line, "deciding what to do")
	cancel()
	<-ended
}

// lines passes on what is written to it.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(bytes.Clone(p))
	return len(p), nil
}

// hungStore does not answer until it is released.
type hungStore struct{ asked, release chan struct{} }

func (s hungStore) ReadAll(context.Context, string, int64) ([]byte, error) {
	s.asked <- struct{}{}
	<-s.release
	return nil, blobstore.ErrNotExist
}

func (s hungStore) NewReader(ctx context.Context, uri string) (io.ReadCloser, error) {
	_, err := s.ReadAll(ctx, uri, 0)
	return nil, err
}

func (s hungStore) Stat(ctx context.Context, uri string) (blobstore.Info, error) {
	_, err := s.ReadAll(ctx, uri, 0)
	return blobstore.Info{}, err
}

func TestWhoWaitsForTheStoreOccupiesNoWorker(t *testing.T) {
	r := newReconciles(clock.NewFake(time.Unix(1000, 0)), make(Slots, 1))
	hung := hungStore{make(chan struct{}), make(chan struct{})}
	store := Waiting(hung)
	waits, endWaits, err := r.begin(t.Context(), "waits")
	require.NoError(t, err)
	read := make(chan error, 1)
	go func() { _, err := store.ReadAll(waits, "s3://bucket/error.pb", 1); read <- err }()
	<-hung.asked

	_, endWorks, err := r.begin(t.Context(), "works")
	require.NoError(t, err, "the only worker is free")
	longest, _ := r.longest()
	require.Contains(t, []string{"waits", "works"}, longest.Action)
	close(hung.release)
	select {
	case err := <-read:
		t.Fatalf("two reconciles work: %v", err)
	default:
	}
	endWorks()
	require.ErrorIs(t, <-read, blobstore.ErrNotExist)
	endWaits()
	require.Empty(t, r.slots)

	hung = hungStore{make(chan struct{}, 1), make(chan struct{})}
	close(hung.release)
	_, err = Waiting(hung).Stat(t.Context(), "s3://bucket/outputs.pb")
	require.ErrorIs(t, err, blobstore.ErrNotExist, "work in the background has no worker")
}
