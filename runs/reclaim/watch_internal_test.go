package reclaim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/clusters/states"
)

// scene has two clusters, of which east may be away.
type scene struct {
	watch *watch
	now   time.Time     // by the clock of this process
	age   time.Duration // of east's last word, by the clock of the database
}

func newScene() *scene {
	s := &scene{watch: newWatch(DefaultConfig()), now: time.Unix(1_000_000, 0)}
	s.pass(time.Minute, false)
	return s
}

// pass looks each second for a time.
func (s *scene) pass(d time.Duration, away bool) {
	for range int(d / time.Second) {
		s.now, s.age = s.now.Add(time.Second), s.age+time.Second
		if !away {
			s.age = 0
		}
		s.look()
	}
}

func (s *scene) look() {
	s.watch.look([]states.State{{Name: "east", SeenAt: s.now.Add(-s.age)}, {Name: "west", SeenAt: s.now}}, s.now)
}

const lostAfter = 10 * time.Minute

func TestAClusterIsAwayThenLost(t *testing.T) {
	s := newScene()
	s.pass(13*time.Second, true)
	require.False(t, s.watch.isAway("east"))
	s.pass(time.Second, true)
	require.True(t, s.watch.isAway("east"))
	require.False(t, s.watch.isAway("west"))
	s.pass(9*time.Minute, true)
	require.False(t, s.watch.isLost("east", lostAfter))
	s.pass(time.Minute, true)
	require.True(t, s.watch.isLost("east", lostAfter))
	require.False(t, s.watch.isLost("east", 0), "0 is never")
	s.pass(time.Second, false)
	require.False(t, s.watch.isAway("east"))
	s.pass(30*time.Second, true)
	require.False(t, s.watch.isLost("east", lostAfter), "it was back")
}

// TestTheNextHolderGoesOn: a replica that takes the lease while a cluster is away needs no time of its own but to settle.
func TestTheNextHolderGoesOn(t *testing.T) {
	s := newScene()
	s.pass(9*time.Minute+50*time.Second, true)
	s.watch = newWatch(DefaultConfig())
	s.pass(15*time.Second, true)
	require.False(t, s.watch.isAway("east"), "it has not watched for long enough")
	s.pass(15*time.Second, true)
	require.True(t, s.watch.isLost("east", lostAfter))
}

// TestAnOutageOfTheAPITakesNothing: when it was down, all clusters look away until their controllers have connected.
func TestAnOutageOfTheAPITakesNothing(t *testing.T) {
	s := newScene()
	s.now, s.age = s.now.Add(time.Hour), time.Hour
	s.look()
	s.pass(19*time.Second, true)
	require.False(t, s.watch.isAway("east"))
	s.pass(time.Second, false)
	require.False(t, s.watch.isAway("east"))
	require.True(t, s.watch.settled())
}

// TestClocksThatAreSetLoseNothing: neither that of the database nor that of this process.
func TestClocksThatAreSetLoseNothing(t *testing.T) {
	s := newScene()
	s.pass(30*time.Second, true)
	s.age += time.Hour // the database's
	s.pass(30*time.Second, true)
	require.True(t, s.watch.isAway("east"))
	require.False(t, s.watch.isLost("east", lostAfter))
	s.pass(10*time.Minute, true)
	require.True(t, s.watch.isLost("east", lostAfter), "as this process has seen")

	s = newScene()
	s.pass(30*time.Second, true)
	s.now = s.now.Add(time.Hour) // this process's
	s.look()
	require.False(t, s.watch.isAway("east"), "it begins anew")
	s.pass(time.Minute, true)
	require.False(t, s.watch.isLost("east", lostAfter))
	s.now = s.now.Add(-2 * time.Hour)
	s.look()
	s.pass(time.Minute, true)
	require.False(t, s.watch.isLost("east", lostAfter))
}
