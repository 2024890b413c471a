package process

import (
	"os"
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// listening is the state of a listening socket in /proc/net/tcp (TCP_LISTEN).
const listening = "0A"

// ListensOn reports whether a process of the container listens on a TCP port. It is true where that cannot be known: outside
// of Linux, and if the sockets of a process cannot be read.
func (p *Process) ListensOn(port string) bool {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return true
	}
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		raw, err := os.ReadFile(table)
		if err != nil && !os.IsNotExist(err) { // a machine may have no IPv6
			return true
		}
		addListeners(sockets, string(raw), number)
	}
	for _, pid := range shim.Descendants(p.State().ShimPID) {
		files := "/proc/" + strconv.Itoa(pid) + "/fd/"
		entries, err := os.ReadDir(files)
		if os.IsPermission(err) {
			return true
		}
		for _, entry := range entries { // none of a process that has just ended
			if to, err := os.Readlink(files + entry.Name()); err == nil && sockets[to] {
				return true
			}
		}
	}
	return false
}

// addListeners adds the sockets that listen on a port, as links of /proc/PID/fd name them. A line of the table has: number,
// local address as hex IP:PORT, remote address, state, four columns of queues and timers, retransmissions, inode.
func addListeners(sockets map[string]bool, table string, port uint64) {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != listening {
			continue
		}
		_, local, _ := strings.Cut(fields[1], ":")
		if number, err := strconv.ParseUint(local, 16, 16); err == nil && number == port {
			sockets["socket:["+fields[9]+"]"] = true
		}
	}
}
