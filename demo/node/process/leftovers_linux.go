package process

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// killLeftovers ends the processes of a container whose shim was killed. The kernel has ended the first process with
// the shim; the others are found by the marker in their environment, so that no foreign process is killed.
func killLeftovers(id string, _ int) {
	if id == "" {
		return
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	marker := []byte(shim.Marker + "=" + id)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile("/proc/" + entry.Name() + "/environ")
		if err != nil {
			continue
		}
		for variable := range bytes.SplitSeq(environ, []byte{0}) {
			if bytes.Equal(variable, marker) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
		}
	}
}
