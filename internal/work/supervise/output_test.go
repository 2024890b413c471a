package supervise

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The end of a Go program that panicked is a stack, which says where; why stands before it.
func TestTheReasonOfAPanicIsNotBehindItsStack(t *testing.T) {
	stack := "\n\ngoroutine 1 gp=0xc000002380 m=0 mp=0x1 [running]:\nmain.main()\n" + strings.Repeat("\t/src/etcd/wal.go:123 +0x1d\n", 500)
	for name, text := range map[string]string{
		"a panic":       `{"level":"panic","msg":"failed to create WAL","error":"no space left on device"}` + "\npanic: failed to create WAL" + stack,
		"a fatal error": "write wal: no space left on device\nfatal error: out of memory" + strings.ReplaceAll(stack, " gp=0xc000002380 m=0 mp=0x1", ""),
		"at the start":  "panic: no space left on device" + stack,
	} {
		got := withoutStack(text)
		require.Contains(t, got, "no space left on device", name)
		require.NotContains(t, got, "goroutine", name)
		require.LessOrEqual(t, len(got), tailBytes, name)
	}
	long := strings.Repeat("x", 3*tailBytes)
	require.Equal(t, long[:tailBytes], withoutStack(long), "other outputs are as they were")
	require.Equal(t, "panic: button\nfine", withoutStack("panic: button\nfine"))
}
