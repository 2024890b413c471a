package worker

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Conceal returns the value of a variable and takes it away from the other processes of the same user, which include the attempts: the
// kernel's copy of the environment (/proc/PID/environ) is overwritten, and others can no longer read this process's memory, files
// and environment or trace it. Processes with CAP_SYS_PTRACE still can read its memory. An error says what could not be done; the value is valid even so.
func Conceal(name string) (value string, err error) {
	value = strings.Clone(os.Getenv(name))
	err = errors.Join(os.Unsetenv(name), wipe(name))
	if failed := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); failed != nil {
		err = errors.Join(err, fmt.Errorf("close this process to others: %w", failed))
	}
	return value, err
}

// wipe overwrites the value of a variable in the block that the kernel has given to this process.
func wipe(name string) error {
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open the memory of this process: %w", err)
	}
	defer func() { _ = memory.Close() }()
	from, to, err := environment()
	if err != nil {
		return err
	}
	block := make([]byte, to-from)
	if _, err := memory.ReadAt(block, from); err != nil {
		return fmt.Errorf("read the environment of this process: %w", err)
	}
	for at := 0; at < len(block); {
		size := bytes.IndexByte(block[at:], 0)
		if size < 0 {
			size = len(block) - at
		}
		if prefix := name + "="; bytes.HasPrefix(block[at:at+size], []byte(prefix)) {
			start := at + len(prefix)
			if _, err := memory.WriteAt(make([]byte, at+size-start), from+int64(start)); err != nil {
				return fmt.Errorf("overwrite %s in the environment of this process: %w", name, err)
			}
		}
		at += size + 1
	}
	return nil
}

// environment is where the kernel has put the environment of this process.
func environment() (from, to int64, err error) {
	const start, end = 50, 51 // fields of proc(5), from 1; the third is the first after the name
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, fmt.Errorf("find the environment of this process: %w", err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= end-3 {
		return 0, 0, errors.New("find the environment of this process: the kernel does not say where it is")
	}
	from, err = strconv.ParseInt(fields[start-3], 10, 64)
	to, failed := strconv.ParseInt(fields[end-3], 10, 64)
	if err = errors.Join(err, failed); err != nil || from <= 0 || to < from || to-from > 64<<20 {
		return 0, 0, fmt.Errorf("find the environment of this process: from %s to %s", fields[start-3], fields[end-3])
	}
	return from, to, nil
}
