//go:build !linux

package figures

import "os"

// datasync waits until the disk has a file's data. Memory and CPU cannot be read here; the latencies can.
func datasync(file *os.File) error { return file.Sync() }
