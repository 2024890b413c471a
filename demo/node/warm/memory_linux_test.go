package warm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/node/process"
)

// A task pays for what it adds and for what it would have after a cold start, whatever other tasks have used. What it adds is
// limited as before, also in another program that it becomes, which has nothing of the parent's.
func TestMemoryOfLearnedPackagesIsNotCharged(t *testing.T) {
	const limit = 100 << 20
	f, packages := newEnvironment(t, age+`
import time
def hold(mebibytes):
    data = b"x" * (mebibytes << 20)
    time.sleep(0.5)
how, mebibytes = sys.argv[1], int(sys.argv[2])
if how == "learn":
    import big
    print(mine(big))
elif how == "become":
    os.execv(sys.executable, [sys.executable, "-c", f"import time; data = b'x' * ({mebibytes} << 20); time.sleep(0.5); print('done')"])
elif how == "fork" and os.fork() == 0:
    hold(mebibytes)
elif how == "fork":
    os.wait()
    print("done")
else:
    hold(mebibytes)
    print("done")
`)
	f.write(packages+"/big.py", "import os\nprocess, data = os.getpid(), b'x' * (300 << 20)\n")
	f.until("imported here\n", "imported before\n", "learn", "0")
	limited := func(c *process.Command) { c.MemoryBytes = limit }
	for _, how := range []string{"alone", "fork", "become"} {
		for size, killed := range map[string]bool{"0": false, "50": false, "600": true} {
			for _, warmly := range []bool{false, true} {
				p := f.start(warmly, limited, how, size)
				state := p.end()
				require.Equal(t, warmly, state.Warm, state.Refused)
				require.Equal(t, killed, state.OutOfMemory, "%s %s, warm: %t: %s", how, size, warmly, p.log())
				if !killed {
					require.Equal(t, "done\n", p.log(), "%s %s, warm: %t", how, size, warmly)
				}
			}
		}
	}
}
