package figures

import (
	"os"
	"syscall"
)

// datasync waits until the disk has a file's data.
func datasync(file *os.File) error { return syscall.Fdatasync(int(file.Fd())) }
