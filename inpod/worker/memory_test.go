package worker

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
)

// TestWhoSentTheSignal: a task that kills itself is not a failure of the system, and one that the kernel killed is not a failure of the task.
func TestWhoSentTheSignal(t *testing.T) {
	for name, tc := range map[string]struct {
		end           exit
		before, after kills
		want          workerv1.End
	}{
		"kills itself":                            {exit{signal: syscall.SIGKILL}, kills{2, 5}, kills{2, 5}, workerv1.End_END_SIGNALED},
		"others of the machine were killed":       {exit{signal: syscall.SIGKILL}, kills{2, 5}, kills{2, 6}, workerv1.End_END_SIGNALED},
		"too much memory":                         {exit{signal: syscall.SIGKILL}, kills{2, 5}, kills{3, 6}, workerv1.End_END_OUT_OF_MEMORY},
		"the container has no counts":             {exit{signal: syscall.SIGKILL}, kills{-1, 5}, kills{-1, 5}, workerv1.End_END_SIGNALED},
		"the machine ran out of memory":           {exit{signal: syscall.SIGKILL}, kills{-1, 5}, kills{-1, 6}, workerv1.End_END_LOST},
		"nothing is known":                        {exit{signal: syscall.SIGKILL}, kills{-1, -1}, kills{-1, -1}, workerv1.End_END_LOST},
		"asks itself to end":                      {exit{signal: syscall.SIGTERM}, kills{-1, -1}, kills{-1, -1}, workerv1.End_END_SIGNALED},
		"one of several, for want of memory":      {exit{lost: "ended", crowd: true}, kills{2, 5}, kills{3, 6}, workerv1.End_END_OUT_OF_MEMORY_TOGETHER},
		"one of several, for another reason":      {exit{lost: "ended", crowd: true}, kills{2, 5}, kills{2, 5}, workerv1.End_END_LOST},
		"the base was killed, for want of memory": {exit{lost: "gone"}, kills{2, 5}, kills{3, 6}, workerv1.End_END_LOST},
	} {
		ended := &workerv1.Ended{}
		(&attempt{}).judge(ended, tc.end, tc.after.since(tc.before))
		require.Equal(t, tc.want, ended.GetEnd(), name)
	}
}
