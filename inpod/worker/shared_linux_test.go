package worker

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
)

const coroutines = `
import asyncio, logging, os, sys
import flyte

env = flyte.TaskEnvironment(name="w")
count = 0

def here(name, text=None):
    path = os.path.dirname(flyte.ctx().raw_data_path.path) + "/" + name
    with open(path + ".part", "w") as file:
        file.write(text or str(os.getpid()))
    os.rename(path + ".part", path)

@env.task
async def good() -> str:
    global count
    count += 1
    print("hello from", flyte.ctx().action.name)
    await asyncio.sleep(0)
    print("again", flyte.ctx().action.name, file=sys.stderr)
    await asyncio.to_thread(lambda: print("from a thread of", flyte.ctx().action.name))
    return f"{count} {os.getpid()}"

@env.task
async def waits() -> str:
    print("waiting", flyte.ctx().action.name)
    here("waits")
    try:
        await asyncio.sleep(600)
    finally:
        here("cleaned")
    return ""

@env.task
async def stubborn() -> str:
    here("waits")
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            here("asked")

@env.task
async def bad() -> str:
    raise ValueError("as it must be")

@env.task
async def leaves() -> str:
    os._exit(3)
`

const presenting = `
import os, time
import flyte

env = flyte.TaskEnvironment(name="w")

@env.task
async def tells(folder: str = "") -> str:
    path = os.path.dirname(flyte.ctx().raw_data_path.path) + "/here"
    with open(path + ".part", "w") as file:
        file.write(str(os.getpid()))
    os.rename(path + ".part", path)
    while not os.path.exists(os.environ["GO"]):
        time.sleep(0.01)
    return os.environ["_U_EP_OVERRIDE"]
`

// TestAttemptsWithTokensShareNoProcess: an attempt calls the server with its own token, whatever runs at the same time.
func TestAttemptsWithTokensShareNoProcess(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Concurrency = 2 })
	code, gate := f.bundle("tasks", presenting), t.TempDir()+"/go"
	for uid, token := range map[int64]string{1: "fbt_one", 2: "fbt_two"} {
		f.assign(uid, code, "tasks", "tells", func(a *workerv1.Assignment) {
			a.Env["FLYTE_TASK_TOKEN"], a.Env["GO"] = token, gate
		})
	}
	require.NotEqual(t, f.says(1, "here"), f.says(2, "here"))
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	for uid, want := range map[int64]string{1: "http://localhost:1/t/fbt_one", 2: "http://localhost:1/t/fbt_two"} {
		ended := f.ended(uid)
		require.Equal(t, workerv1.End_END_EXITED, ended.GetEnd(), f.log(uid))
		require.True(t, ended.GetWarm())
		require.Equal(t, want, f.outputs(uid)["o0"], f.log(uid))
	}
}

func TestSeveralInOneProcess(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Concurrency = 3 })
	code := f.bundle("tasks", coroutines)
	f.assign(1, code, "tasks", "waits")
	f.assign(2, code, "tasks", "waits")
	pid := f.says(1, "waits")
	require.Equal(t, pid, f.says(2, "waits"))
	for uid := int64(3); uid <= 5; uid++ {
		f.assign(uid, code, "tasks", "good")
		require.Equal(t, workerv1.End_END_EXITED, f.ended(uid).GetEnd(), f.log(uid))
		require.Equal(t, string(rune('0'+uid-2))+" "+pid, f.outputs(uid)["o0"], f.log(uid))
	}
	require.Contains(t, f.log(3), "Z hello from a3\n")
	require.Contains(t, f.log(3), "Z again a3\n")
	require.Contains(t, f.log(3), "Z from a thread of a3\n")
	require.NotContains(t, f.log(3), "a4")
	f.assign(6, code, "tasks", "bad")
	require.Equal(t, workerv1.End_END_EXITED, f.ended(6).GetEnd())
	require.Contains(t, f.taskError(6).GetMessage(), "as it must be")

	f.sendStop(1, 30*time.Second)
	require.Equal(t, workerv1.End_END_STOPPED, f.ended(1).GetEnd())
	f.says(1, "cleaned")
	require.Contains(t, f.log(1), "waiting a1\n")
	require.True(t, alive(pid), "the neighbour goes on")
	f.change(func() { require.Len(t, f.state.GetRunning(), 1) })

	f.assign(7, code, "tasks", "leaves")
	for _, uid := range []int64{2, 7} {
		ended := f.ended(uid)
		require.Equal(t, workerv1.End_END_LOST, ended.GetEnd())
		require.Contains(t, ended.GetMessage(), "which of them")
	}
	f.assign(8, code, "tasks", "leaves")
	ended := f.ended(8)
	require.Equal(t, workerv1.End_END_EXITED, ended.GetEnd(), "it was alone: %s", ended.GetMessage())
	require.Equal(t, int32(3), ended.GetCode())
	f.assign(9, code, "tasks", "good")
	require.Equal(t, workerv1.End_END_EXITED, f.ended(9).GetEnd())
	require.NotContains(t, f.outputs(9)["o0"], pid)
}

// TestACoroutineThatDoesNotEnd: it ends with its process after the grace, and its neighbours with it.
func TestACoroutineThatDoesNotEnd(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Concurrency = 2 })
	code := f.bundle("tasks", coroutines)
	f.assign(1, code, "tasks", "stubborn")
	f.assign(2, code, "tasks", "waits")
	f.says(1, "waits")
	f.says(2, "waits")
	f.sendStop(1, time.Second)
	f.says(1, "asked")
	require.Equal(t, workerv1.End_END_STOPPED, f.ended(1).GetEnd())
	require.Equal(t, workerv1.End_END_LOST, f.ended(2).GetEnd())
}
