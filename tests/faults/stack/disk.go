package stack

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// CanFill reports whether the object store has a disk that may be filled.
func (s *Stack) CanFill() bool { return s.mounted }

func (s *Stack) ballast() string { return filepath.Join(s.Storage, ".ballast") }

// Fill leaves no space in the object store.
func (s *Stack) Fill() error {
	file, err := os.Create(s.ballast())
	if err != nil {
		return err
	}
	defer file.Close()
	for size := 1 << 20; size >= 512; {
		if _, err := file.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Empty frees the space.
func (s *Stack) Empty() error {
	if err := os.Remove(s.ballast()); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// end kills a process that no one else ends.
func end(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }
