package copilot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Marks by which download and sidecar coordinate.
const (
	// MarkListening is set when the sidecar handles the signal that ends it. Before that the container must not start: it
	// might end at once, and the signal would be lost or kill the sidecar.
	MarkListening = "listening"
	// MarkStarted is set when the inputs are there, right before the container starts. Without it the sidecar has nothing to
	// collect.
	MarkStarted = "started"
)

// stagePause is how often Await looks for a mark. The pause is short, because the start of every raw container waits
// for it.
const stagePause = 10 * time.Millisecond

// Stage is a directory that only download and sidecar share.
type Stage string

// Set sets a mark.
func (s Stage) Set(mark string) error {
	if err := os.WriteFile(filepath.Join(string(s), mark), nil, 0o666); err != nil { //nolint:gosec // the pod's own
		return fmt.Errorf("%w: %w", errLocal, err)
	}
	return nil
}

// Has reports whether a mark is set.
func (s Stage) Has(mark string) (bool, error) {
	_, err := os.Stat(filepath.Join(string(s), mark))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", errLocal, err)
	}
	return true, nil
}

// Await waits for a mark, at most limit.
func (s Stage) Await(ctx context.Context, clk clock.Clock, mark string, limit time.Duration) error {
	for deadline := clk.Now().Add(limit); ; {
		there, err := s.Has(mark)
		if there || err != nil {
			return err
		}
		if clk.Now().After(deadline) {
			return fmt.Errorf("the sidecar is not %s after %s", mark, limit)
		}
		if err := clock.Sleep(ctx, clk, stagePause); err != nil {
			return err
		}
	}
}
