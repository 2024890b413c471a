package outgoing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhenWorkMayHaveBeenTakenBack(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	s := &silence{}
	require.True(t, s.doubtful(at(0)), "an earlier process may have been silent")
	for beat := 0; beat <= 60; beat += 3 {
		s.acknowledged(at(beat), at(beat+1))
	}
	require.True(t, s.doubtful(at(30)))
	require.False(t, s.doubtful(at(61)))
	require.False(t, s.doubtful(at(67)))
	require.True(t, s.doubtful(at(68)), "the last beat was sent at 60")
	s.acknowledged(at(66), at(69))
	require.True(t, s.doubtful(at(70)), "it was sent in time, and may have come too late")
	s.acknowledged(at(72), at(72))
	require.True(t, s.doubtful(at(98)))
	s.acknowledged(at(98), at(98))
	require.True(t, s.doubtful(at(100)), "there was a silence from 72 to 98")
	for beat := 101; beat <= 131; beat += 3 {
		s.acknowledged(at(beat), at(beat))
	}
	require.False(t, s.doubtful(at(132)))
}
