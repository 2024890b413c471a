package resident

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReleaseUnmapsTheProgram(t *testing.T) {
	before := programPages(t)
	require.NoError(t, Release())
	require.Less(t, programPages(t), before*3/4)
}

// programPages is how much of the program this process has mapped, in KiB.
func programPages(t *testing.T) (sum int) {
	t.Helper()
	program, err := os.Readlink("/proc/self/exe")
	require.NoError(t, err)
	maps, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	ours := false
	for line := range strings.Lines(string(maps)) {
		if _, _, ok := header(line); ok {
			ours = strings.Contains(line, program)
		}
		var size int
		if n, _ := fmt.Sscanf(line, "Rss: %d kB", &size); ours && n == 1 {
			sum += size
		}
	}
	return sum
}

func TestMappingsThatCanBeReadAgain(t *testing.T) {
	const smaps = `00400000-02901000 r-xp 00000000 fe:00 53 /usr/bin/flyte-binary
Size:              38000 kB
Anonymous:             0 kB
02901000-05677000 r--p 02501000 fe:00 53 /usr/bin/flyte-binary
Anonymous:             4 kB
05677000-05700000 r--p 05000000 fe:00 53 /usr/bin/flyte-binary
Anonymous:             0 kB
05700000-05800000 rw-p 05100000 fe:00 53 /usr/bin/flyte-binary
Anonymous:             0 kB
7f0000000000-7f0000001000 r--p 00000000 fe:00 54 /usr/lib/libc.so
Anonymous:             0 kB
7f0000002000-7f0000003000 r--p 00000000 00:00 0
Anonymous:             0 kB
`
	found, err := mappings(strings.NewReader(smaps), "/usr/bin/flyte-binary")
	require.NoError(t, err)
	require.Equal(t, []mapping{{0x400000, 0x2901000}, {0x5677000, 0x5700000}}, found)
}
