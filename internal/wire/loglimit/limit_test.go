package loglimit_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/wire/loglimit"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func written(l *loglimit.Limit, kind string, lines int) (n, suppressed int) {
	for range lines {
		if before, ok := l.Allow(kind); ok {
			n, suppressed = n+1, suppressed+before
		}
	}
	return n, suppressed
}

func TestLinesOfAKindAreLimited(t *testing.T) {
	fake := clock.NewFake(time.Unix(1000, 0))
	l := loglimit.New(fake)
	n, _ := written(l, "a", 1000)
	require.Equal(t, 10, n)
	n, _ = written(l, "b", 3)
	require.Equal(t, 3, n, "kinds do not share their limit")

	fake.Step(time.Minute)
	n, suppressed := written(l, "a", 1000)
	require.Equal(t, 10, n)
	require.Equal(t, 990, suppressed, "the first line says how many were left out")
}

func TestKindsDoNotTakeMemoryWithoutEnd(t *testing.T) {
	l := loglimit.New(clock.NewFake(time.Unix(1000, 0)))
	allowed := 0
	for i := range 10_000 {
		if _, ok := l.Allow(strconv.Itoa(i)); ok {
			allowed++
		}
	}
	require.Equal(t, 4096+10, allowed)
}
