package worker

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
)

func TestALeaseThatIsLost(t *testing.T) {
	f := newLeased(t, 15*time.Second)
	code := f.bundle("tasks", tasks)
	f.assign(1, code, "tasks", "waits")
	pid, daemon := f.says(1, "waits"), f.says(1, "daemon")
	f.change(func() { f.mute = true })
	require.Eventually(t, func() bool { return !alive(pid) && !alive(daemon) }, patience, 10*time.Millisecond)
	f.change(func() { f.mute = false })
	ended := f.ended(1)
	require.Equal(t, workerv1.End_END_LOST, ended.GetEnd())
	require.Contains(t, ended.GetMessage(), "lost contact with the server")
	f.assign(2, code, "tasks", "good")
	require.Equal(t, workerv1.End_END_EXITED, f.ended(2).GetEnd(), "the worker goes on with a new lease")
}

func TestAStreamThatBreaks(t *testing.T) {
	f := newFixture(t)
	f.change(func() { f.keep = true })
	code := f.bundle("tasks", tasks)
	f.assign(1, code, "tasks", "good")
	f.ended(1)
	f.assign(2, code, "tasks", "waits")
	pid := f.says(2, "waits")
	f.running(2)
	f.hangUp()
	f.until("a second session", func() bool { return len(f.hellos) == 2 && f.stream != nil })
	f.change(func() { f.keep = false })
	hello := f.hellos[1]
	require.Equal(t, f.hellos[0].GetIncarnation(), hello.GetIncarnation())
	require.Len(t, hello.GetState().GetRunning(), 1, "what runs goes on")
	require.Equal(t, int64(2), hello.GetState().GetRunning()[0].GetId().GetUid())
	require.Len(t, hello.GetState().GetEnded(), 1, "what was not acknowledged is repeated")
	for _, uid := range []int64{1, 2, 1, 2} {
		f.give(uid)
	}
	f.assign(3, code, "tasks", "good")
	require.Equal(t, workerv1.End_END_LOST, f.ended(3).GetEnd(), "there is no slot")
	require.True(t, alive(pid))
	f.sendStop(2, 0)
	require.Equal(t, workerv1.End_END_STOPPED, f.ended(2).GetEnd())
	require.False(t, alive(pid))
	require.Equal(t, 1, strings.Count(f.log(1), "hello from"), "nothing ran twice")
	f.give(1)
	f.assign(4, code, "tasks", "good")
	require.Equal(t, workerv1.End_END_EXITED, f.ended(4).GetEnd())
	require.Equal(t, 1, strings.Count(f.log(1), "hello from"))
	require.Equal(t, []int64{1, 2, 3, 4}, f.seen())
}

func TestTwoBundles(t *testing.T) {
	f := newFixture(t)
	program := func(text string) string {
		return "import flyte\nenv = flyte.TaskEnvironment(name='w')\n@env.task\ndef good() -> str:\n    return '" + text + "'\n"
	}
	one := f.bundle("tasks", program("one"))
	f.assign(1, one, "tasks", "good")
	f.ended(1)
	two := f.bundle("tasks", program("two"))
	f.assign(2, two, "tasks", "good")
	f.ended(2)
	f.assign(3, one, "tasks", "good")
	f.ended(3)
	for uid, want := range map[int64]string{1: "one", 2: "two", 3: "one"} {
		require.Equal(t, want, f.outputs(uid)["o0"], f.log(uid))
	}
}

func TestAWorkerThatIsAskedToEnd(t *testing.T) {
	const slow = `
import time
import flyte
env = flyte.TaskEnvironment(name="w")
@env.task
def slow() -> str:
    import os, sys
    path = os.path.dirname(sys.argv[sys.argv.index("--checkpoint-path") + 1])
    open(path + "/begun", "w").write("x")
    while not os.path.exists(path + "/go"):
        time.sleep(0.01)
    return "done"
`
	f := newFixture(t)
	f.assign(1, f.bundle("tasks", slow), "tasks", "slow")
	f.says(1, "begun")
	f.stop()
	f.until("no more slots", func() bool { return f.state.GetSlots() == 0 })
	f.touch(1, "go")
	require.Equal(t, workerv1.End_END_EXITED, f.ended(1).GetEnd())
	require.Equal(t, "done", f.outputs(1)["o0"])
	require.NoError(t, <-f.done)
}

func TestAWorkerWhoseGraceIsOver(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Grace = time.Second })
	f.assign(1, f.bundle("tasks", tasks), "tasks", "waits")
	pid := f.says(1, "waits")
	f.stop()
	require.NoError(t, <-f.done)
	require.False(t, alive(pid))
	require.Equal(t, workerv1.End_END_LOST, f.ended(1).GetEnd())
}

func TestAnAttemptThatTakesTooLong(t *testing.T) {
	f := newFixture(t)
	f.assign(1, f.bundle("tasks", tasks), "tasks", "waits", func(a *workerv1.Assignment) { a.Timeout = durationpb.New(2 * time.Second) })
	ended := f.ended(1)
	require.Equal(t, workerv1.End_END_STOPPED, ended.GetEnd())
	require.Contains(t, ended.GetMessage(), "longer than its timeout of 2s")
}

// TestCodeThatMustNotBeLoadedBefore: what one import would give to all attempts is imported by each.
func TestCodeThatMustNotBeLoadedBefore(t *testing.T) {
	const rest = `
import flyte
env = flyte.TaskEnvironment(name="w")
@env.task
def good() -> str:
    return str(value())
`
	f := newFixture(t)
	uid := int64(0)
	for name, code := range map[string]string{
		"chance":    "import random\nown = random.Random()\ndef value(): return own.random()\n",
		"seed":      "import random\nrandom.seed(7)\ndef value(): return random.random()\n",
		"numpy":     "import numpy\nnumpy.random.seed(7)\ndef value(): return numpy.random.random()\n",
		"unseeded":  "import numpy\ndef value(): return numpy.random.random()\n",
		"uuid":      "import uuid\nown = uuid.uuid4()\ndef value(): return own\n",
		"moment":    "import datetime\nown = datetime.datetime.now()\ndef value(): return own\n",
		"pid":       "import os\npid = os.getpid()\ndef value(): return pid\n",
		"variables": "import os\nname = os.environ['ACTION_NAME']\ndef value(): return name\n",
		"arguments": "import sys\nwords = list(sys.argv)\ndef value(): return words[words.index('--name') + 1]\n",
		"thread":    "import threading, time\nthreading.Thread(target=lambda: time.sleep(600), daemon=True).start()\ndef value(): return threading.active_count() > 1\n",
		"changes":   "import os\nos.environ['CHANGED'] = 'yes'\ndef value(): return os.environ['CHANGED']\n",
		"broken":    "def value(): return 1\nraise RuntimeError('broken import')\n",
	} {
		t.Run(name, func(t *testing.T) {
			bundle := f.bundle("tasks", code+rest)
			var outputs []string
			for range 2 {
				uid++
				f.assign(uid, bundle, "tasks", "good")
				ended := f.ended(uid)
				require.Equal(t, workerv1.End_END_EXITED, ended.GetEnd(), ended.GetMessage())
				outputs = append(outputs, f.outputs(uid)["o0"])
			}
			switch name {
			case "chance", "unseeded", "uuid", "moment", "pid", "variables", "arguments":
				require.NotEmpty(t, outputs[0], f.log(uid))
				require.NotEqual(t, outputs[0], outputs[1])
			case "seed", "numpy":
				require.NotEmpty(t, outputs[0], f.log(uid))
				require.Equal(t, outputs[0], outputs[1])
			case "thread":
				require.Equal(t, []string{"True", "True"}, outputs)
			case "changes":
				require.Equal(t, []string{"yes", "yes"}, outputs)
			case "broken":
				require.Contains(t, f.taskError(uid).GetMessage(), "broken import")
			}
		})
	}
}
