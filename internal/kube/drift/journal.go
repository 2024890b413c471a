package drift

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// burst is how long repairs are collected before they are logged together.
const burst = 5 * time.Second

// Journal logs repairs. All repairs of a burst share a line: after the death of a process there may be hundreds.
type Journal struct {
	clock  clock.Clock
	logger zerolog.Logger
	noted  chan struct{} // has a token when there is something to write

	mu       sync.Mutex
	expected batch // GUARDED_BY(mu)
	others   batch // GUARDED_BY(mu)
}

// batch is the repairs of one line.
type batch struct {
	kinds map[string]int
	total int
	first string
}

// NewJournal returns a journal that writes while Run runs.
func NewJournal(clk clock.Clock, logger zerolog.Logger) *Journal {
	return &Journal{clock: clk, logger: logger, noted: make(chan struct{}, 1)}
}

// Add notes a repair of an object. Expected means that a restart, a new leader or an upgrade explains it: such repairs
// are logged as information, all others as warnings.
func (j *Journal) Add(kind string, expected bool, object string) {
	j.mu.Lock()
	if expected {
		j.expected.add(kind, object)
	} else {
		j.others.add(kind, object)
	}
	j.mu.Unlock()
	select {
	case j.noted <- struct{}{}:
	default:
	}
}

// Run writes until ctx ends. It then writes what is left, and returns.
func (j *Journal) Run(ctx context.Context) {
	for {
		select {
		case <-j.noted:
			ended := clock.Sleep(ctx, j.clock, burst) != nil
			j.write()
			if ended {
				return
			}
		case <-ctx.Done():
			j.write()
			return
		}
	}
}

func (j *Journal) write() {
	j.mu.Lock()
	expected, others := j.expected, j.others
	j.expected, j.others = batch{}, batch{}
	j.mu.Unlock()
	expected.log(j.logger.Info(), "drift repaired, as expected after a restart, a change of leader or an upgrade")
	others.log(j.logger.Warn(), "drift repaired")
}

func (b *batch) add(kind, object string) {
	if b.kinds == nil {
		b.kinds, b.first = map[string]int{}, object
	}
	b.kinds[kind]++
	b.total++
}

func (b *batch) log(line *zerolog.Event, text string) {
	if b.total == 0 {
		return
	}
	counts := zerolog.Dict()
	for kind, n := range b.kinds {
		counts.Int(kind, n)
	}
	line.Int("repairs", b.total).Dict("kinds", counts).Str("first", b.first).Msg(text)
}
