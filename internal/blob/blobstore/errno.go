package blobstore

import (
	"strings"
	"syscall"
)

// errNotDirectory is what the system says when a file stands where the path needs a directory.
const errNotDirectory = syscall.ENOTDIR

// errNameTooLong is what the system says of a name that no file can have.
const errNameTooLong = syscall.ENAMETOOLONG

// isEscape recognizes what os.Root says of a link that leads out of it; it has no exported error.
func isEscape(err error) bool { return strings.Contains(err.Error(), "path escapes from parent") }
