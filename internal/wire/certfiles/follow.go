// Package certfiles has certificates that follow their files: tools that renew certificates replace these while a process runs.
package certfiles

import (
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// lookEvery is how often files are looked at, while there are connections.
const lookEvery = 10 * time.Second

// followed is what some files have.
type followed[T any] struct {
	files []string
	read  func() (T, error)
	clock clock.Clock
	log   zerolog.Logger

	mu      sync.Mutex
	current T           // GUARDED_BY(mu)
	version []time.Time // GUARDED_BY(mu): when the files were last changed
	looked  time.Time   // GUARDED_BY(mu)
}

func follow[T any](read func() (T, error), clk clock.Clock, log zerolog.Logger, files ...string) (*followed[T], error) {
	f := &followed[T]{files: files, read: read, clock: clk, log: log, looked: clk.Now()}
	version, err := f.modified()
	if err == nil {
		f.current, err = read()
	}
	f.version = version
	return f, err
}

// get is what the files have. While they cannot be read, it is what they had.
func (f *followed[T]) get() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	if now.Sub(f.looked) < lookEvery {
		return f.current
	}
	f.looked = now
	version, err := f.modified()
	if err == nil && !slices.Equal(version, f.version) {
		var next T
		if next, err = f.read(); err == nil {
			f.current, f.version = next, version
			f.log.Info().Strs("files", f.files).Msg("a certificate has been replaced")
		}
	}
	if err != nil {
		f.log.Error().Err(err).Strs("files", f.files).Msg("cannot read a certificate; the last one continues to be used")
	}
	return f.current
}

func (f *followed[T]) modified() ([]time.Time, error) {
	var version []time.Time
	for _, name := range f.files {
		about, err := os.Stat(name)
		if err != nil {
			return nil, err //nolint:wrapcheck // its text names the file
		}
		version = append(version, about.ModTime())
	}
	return version, nil
}
