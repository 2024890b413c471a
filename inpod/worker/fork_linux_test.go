package worker

import (
	"maps"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
)

const tasks = `
import os, random, sys, time
import flyte

env = flyte.TaskEnvironment(name="w")
count = 0

def here(name, text=None):
    path = os.path.dirname(sys.argv[sys.argv.index("--checkpoint-path") + 1]) + "/" + name
    with open(path + ".part", "w") as file:
        file.write(text or str(os.getpid()))
    os.rename(path + ".part", path)

@env.task
def good() -> str:
    global count
    count += 1
    print("hello from", flyte.ctx().action.name, flush=True)
    print("to the other stream", file=sys.stderr)
    names = sorted(name for name in os.listdir(".") if not name.startswith(".") and not name.endswith(".tgz"))
    open("left-behind", "w").close()
    return repr([count, os.environ["ACTION_NAME"], flyte.ctx().action.name, sys.argv[0].endswith("/a0"), names, os.getpid() == os.getsid(0)])

@env.task
def bad() -> str:
    raise ValueError("as it must be")

@env.task
def leaves() -> str:
    os._exit(3)

@env.task
def waits() -> str:
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            here("daemon")
            time.sleep(600)
        os._exit(0)
    os.waitpid(child, 0)
    here("waits")
    time.sleep(600)
    return ""
`

func TestATask(t *testing.T) {
	f := newFixture(t)
	code := f.bundle("tasks", tasks)
	for uid := int64(1); uid <= 3; uid++ {
		f.assign(uid, code, "tasks", "good")
		ended := f.ended(uid)
		require.Equal(t, workerv1.End_END_EXITED, ended.GetEnd(), "%s\n%s", ended.GetMessage(), f.log(uid))
		require.Zero(t, ended.GetCode(), f.log(uid))
		require.True(t, ended.GetWarm())
		require.NotNil(t, ended.GetStartedAt())
		name := "a" + strconv.FormatInt(uid, 10)
		require.Equal(t, `[1, '`+name+`', '`+name+`', True, ['__pycache__', 'tasks.py'], True]`, f.outputs(uid)["o0"], f.log(uid))
		require.Contains(t, f.log(uid), "Z hello from "+name+"\n")
		require.Contains(t, f.log(uid), "Z to the other stream\n")
	}
}

func TestATaskThatFails(t *testing.T) {
	f := newFixture(t)
	code := f.bundle("tasks", tasks)
	f.assign(1, code, "tasks", "bad")
	require.Equal(t, workerv1.End_END_EXITED, f.ended(1).GetEnd(), "the verdict is in the object store")
	require.Contains(t, f.taskError(1).GetMessage(), "as it must be")
	f.assign(2, code, "tasks", "leaves")
	ended := f.ended(2)
	require.Equal(t, workerv1.End_END_EXITED, ended.GetEnd())
	require.Equal(t, int32(3), ended.GetCode())
	require.Nil(t, f.outputs(2))
	f.assign(3, code, "tasks", "waits")
	pid, daemon := f.says(3, "waits"), f.says(3, "daemon")
	number, err := strconv.Atoi(pid)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(number, syscall.SIGKILL))
	ended = f.ended(3)
	require.Equal(t, workerv1.End_END_SIGNALED, ended.GetEnd(), ended.GetMessage())
	require.Equal(t, int32(syscall.SIGKILL), ended.GetCode())
	require.False(t, alive(daemon), "what an attempt leaves behind ends with it")
	f.assign(4, code, "tasks", "good")
	require.Zero(t, f.ended(4).GetCode())
	require.NotNil(t, f.outputs(4))
}

// TestATaskThatUsesTheSDK: its client and its controller are made when they are first used.
func TestATaskThatUsesTheSDK(t *testing.T) {
	const code = `
import threading
import flyte
import flyte._initialize
from flyte._internal.controllers.remote._controller import RemoteController

async def submit(self, task, *args, **kwargs):
    return "from " + type(self).__name__ + " " + task.name

RemoteController.submit = submit
env = flyte.TaskEnvironment(name="w")

@env.task
async def child() -> str:
    return "never here"

@env.task
async def parent() -> str:
    before = [thread.name for thread in threading.enumerate()]
    said = await child()
    after = [thread.name for thread in threading.enumerate()]
    client = flyte._initialize.get_client()
    return repr([said, "ControllerThread" in before, "ControllerThread" in after, client.endpoint, client.run_service is not None])
`
	for _, slots := range []uint32{1, 2} {
		t.Run(strconv.Itoa(int(slots)), func(t *testing.T) {
			f := newFixture(t, func(c *Config) { c.Concurrency = slots })
			f.assign(1, f.bundle("tasks", code), "tasks", "parent")
			require.Equal(t, workerv1.End_END_EXITED, f.ended(1).GetEnd())
			require.Equal(t, "['from RemoteController w.child', False, True, 'http://localhost:1', True]", f.outputs(1)["o0"], f.log(1))
		})
	}
}

// A pool serves many runs. What the run that its worker was started for brought along does not make attempts of others slow.
func TestVariablesOfOtherRuns(t *testing.T) {
	f := newFixture(t, func(c *Config) {
		c.Environ = append(c.Environ, "_F_SYS_PATH=./one", "OF_THE_RUN=first", "FLYTE_IO_BATCH_SIZE=7")
	})
	code := f.bundle("tasks", tasks)
	for uid, env := range []map[string]string{
		{"_F_SYS_PATH": "./one", "OF_THE_RUN": "first", "FLYTE_IO_BATCH_SIZE": "7"},
		{"_F_SYS_PATH": "./one:./two", "FLYTE_IO_BATCH_SIZE": "7"},
		{"OF_ANOTHER": "second", "FLYTE_IO_BATCH_SIZE": "8"}, // the SDK reads this one when it is imported
	} {
		f.assign(int64(uid), code, "tasks", "good", func(a *workerv1.Assignment) { maps.Copy(a.Env, env) })
		ended := f.ended(int64(uid))
		require.Equal(t, workerv1.End_END_EXITED, ended.GetEnd(), "%s\n%s", ended.GetMessage(), f.log(int64(uid)))
		require.NotNil(t, f.outputs(int64(uid)), f.log(int64(uid)))
		require.Equal(t, uid < 2, ended.GetWarm(), uid)
	}
}
