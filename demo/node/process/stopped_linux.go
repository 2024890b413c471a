package process

import (
	"bytes"
	"os"
	"strconv"
)

// stopped reports whether a process is stopped by a signal or by a tracer. Its state follows its name in parentheses, which may
// contain anything.
func stopped(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	state := bytes.TrimSpace(raw[bytes.LastIndexByte(raw, ')')+1:])
	return len(state) > 0 && (state[0] == 'T' || state[0] == 't')
}
