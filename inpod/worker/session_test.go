package worker

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
)

func lease(lasts time.Duration) *workerv1.WorkResponse {
	return &workerv1.WorkResponse{Message: &workerv1.WorkResponse_Lease{Lease: &workerv1.Lease{Lasts: durationpb.New(lasts)}}}
}

func assignment(one id) *workerv1.WorkResponse {
	return &workerv1.WorkResponse{Message: &workerv1.WorkResponse_Assignment{Assignment: &workerv1.Assignment{Id: one.proto()}}}
}

func acknowledged(ids ...id) *workerv1.WorkResponse {
	message := &workerv1.Acknowledged{}
	for _, one := range ids {
		message.Ids = append(message.Ids, one.proto())
	}
	return &workerv1.WorkResponse{Message: &workerv1.WorkResponse_Acknowledged{Acknowledged: message}}
}

// leased is a session with a lease of 30 s, counted from 0.
func leased(t *testing.T, slots uint32) *session {
	t.Helper()
	s := newSession("w", "i", "v", slots)
	s.connect()
	require.NotNil(t, s.message(0).GetHello())
	s.receive(time.Second, lease(30*time.Second))
	return s
}

func TestALeaseCountsFromWhenItsMessageWasSent(t *testing.T) {
	s := newSession("w", "i", "v", 1)
	require.False(t, s.valid(0))
	s.connect()
	s.message(10 * time.Second)
	s.message(20 * time.Second)
	s.receive(21*time.Second, lease(30*time.Second))
	require.True(t, s.valid(36*time.Second))
	require.False(t, s.valid(37*time.Second), "3 s are kept for ending all work")
	s.receive(22*time.Second, lease(30*time.Second))
	require.True(t, s.valid(46*time.Second))
	s.receive(23*time.Second, lease(30*time.Second))
	require.False(t, s.valid(47*time.Second), "nothing was sent for the third answer")
	require.True(t, s.lapse(47*time.Second))
	require.False(t, s.lapse(48*time.Second), "all work ends once")
}

func TestAnAnswerToAnotherStreamDoesNotCount(t *testing.T) {
	s := leased(t, 1)
	s.message(20 * time.Second)
	s.connect()
	s.message(25 * time.Second)
	s.receive(26*time.Second, lease(30*time.Second))
	require.True(t, s.valid(51*time.Second))
	require.False(t, s.valid(52*time.Second))
}

func TestWhatAWorkerCannotTakeIsLost(t *testing.T) {
	s := newSession("w", "i", "v", 1)
	s.connect()
	s.message(0)
	refused := func(now time.Duration, uid int64, why string) {
		t.Helper()
		d, changed := s.receive(now, assignment(id{uid, 1}))
		require.Nil(t, d.start)
		require.True(t, changed)
		require.Equal(t, workerv1.End_END_LOST, s.ended[id{uid, 1}].GetEnd())
		require.Contains(t, s.ended[id{uid, 1}].GetMessage(), why)
	}
	refused(time.Second, 1, "lease")
	s.receive(time.Second, lease(30*time.Second))
	d, _ := s.receive(time.Second, assignment(id{2, 1}))
	require.NotNil(t, d.start)
	refused(time.Second, 3, "slot")
	refused(time.Minute, 4, "lease")
	s.receive(time.Second, &workerv1.WorkResponse{Message: &workerv1.WorkResponse_Drain{Drain: &workerv1.Drain{Reason: "idle"}}})
	refused(time.Second, 5, "takes no more")
	require.Zero(t, s.message(0).GetHeartbeat().GetSlots())
	require.False(t, s.over())
}

func TestAnAttemptIsTakenOnce(t *testing.T) {
	s := leased(t, 2)
	one := id{7, 1}
	starts := 0
	take := func() {
		if d, _ := s.receive(2*time.Second, assignment(one)); d.start != nil {
			starts++
		}
	}
	take()
	take()
	s.finish(&workerv1.Ended{Id: one.proto(), End: workerv1.End_END_EXITED})
	take()
	s.receive(2*time.Second, acknowledged(one))
	take()
	s.connect()
	take()
	require.Equal(t, 1, starts)
	require.Empty(t, s.message(0).GetHello().GetState().GetEnded())
}

func TestASilentStreamIsGivenUp(t *testing.T) {
	s := newSession("w", "i", "v", 1)
	s.connect()
	require.False(t, s.silent(time.Hour), "nothing was sent")
	s.message(0)
	require.False(t, s.silent(silence))
	require.True(t, s.silent(silence+1))
	s.receive(time.Second, lease(9*time.Second))
	require.False(t, s.silent(time.Hour))
	s.message(time.Minute)
	require.True(t, s.silent(time.Minute+3*time.Second+1))
}

// TestTheSession plays a server and processes at random, over streams that break at any time.
func TestTheSession(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.Uint32Range(1, 3).Draw(t, "slots")
		s := newSession("w", "i", "v", slots)
		var now time.Duration
		var answers []time.Duration // messages that the server has not answered: when they were sent
		starts, processes, reported := map[id]int{}, map[id]bool{}, map[id]bool{}
		var until time.Duration // what the server believes
		s.connect()
		steps := map[string]func(*rapid.T){
			"time":  func(t *rapid.T) { now += time.Duration(rapid.IntRange(0, 4000).Draw(t, "ms")) * time.Millisecond },
			"break": func(*rapid.T) { s.connect(); answers = nil },
			"send":  func(*rapid.T) { s.message(now); answers = append(answers, now) },
			"process": func(t *rapid.T) {
				for one := range processes {
					s.finish(&workerv1.Ended{Id: one.proto(), End: workerv1.End_END_EXITED})
					delete(processes, one)
					reported[one] = true
					return
				}
			},
			"lease": func(t *rapid.T) {
				if len(answers) == 0 {
					return
				}
				lasts := time.Duration(rapid.IntRange(5, 30).Draw(t, "lasts")) * time.Second
				until = max(until, answers[0]+lasts)
				answers = answers[1:]
				s.receive(now, lease(lasts))
			},
			"assign": func(t *rapid.T) {
				one := id{rapid.Int64Range(1, 30).Draw(t, "uid"), 1}
				if d, _ := s.receive(now, assignment(one)); d.start != nil {
					starts[one]++
					processes[one] = true
				}
			},
			"acknowledge": func(t *rapid.T) {
				one := id{rapid.Int64Range(1, 30).Draw(t, "uid"), 1}
				s.receive(now, acknowledged(one))
				if reported[one] {
					delete(reported, one)
				}
			},
			"": func(t *rapid.T) {
				if s.lapse(now) {
					for one := range processes {
						s.finish(&workerv1.Ended{Id: one.proto(), End: workerv1.End_END_LOST})
						delete(processes, one)
						reported[one] = true
					}
				}
				if len(processes) > 0 && now > until {
					t.Fatalf("work goes on at %s, although the server gives it to others after %s", now, until)
				}
				if len(processes) > int(slots) {
					t.Fatalf("%d attempts in %d slots", len(processes), slots)
				}
				for one, n := range starts {
					if n > 1 {
						t.Fatalf("%v was started %d times", one, n)
					}
				}
				if got, want := slices.Collect(maps.Keys(s.running)), slices.Collect(maps.Keys(processes)); len(got) != len(want) {
					t.Fatalf("%v are reported as running, %v run", got, want)
				}
				for one := range reported {
					if s.ended[one] == nil {
						t.Fatalf("the end of %v is no longer reported", one)
					}
				}
			},
		}
		t.Repeat(steps)
	})
}
