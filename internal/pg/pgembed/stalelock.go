package pgembed

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// clearStaleLock removes the lock of a dead server whose process id another process has now, which is common after a
// restart of a container or the machine. Postgres would refuse to start, since that process is alive. It requires /proc
// and does nothing without it.
func (s *Server) clearStaleLock() error {
	data := filepath.Join(s.config.DataDir, "data")
	lock := filepath.Join(data, "postmaster.pid")
	content, err := os.ReadFile(lock)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the server's lock: %w", err)
	}
	first, _, _ := bytes.Cut(content, []byte("\n"))
	pid, err := strconv.Atoi(string(bytes.TrimSpace(first)))
	if err != nil {
		return nil //nolint:nilerr // Postgres says better what is wrong with its file
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || bytes.Contains(command, []byte(data)) {
		return nil //nolint:nilerr // no such process, or the server itself: Postgres knows what to do
	}
	if err := os.Remove(lock); err != nil {
		return fmt.Errorf("remove a stale lock: %w", err)
	}
	return nil
}
