package warm

import (
	"os"
	"syscall"
	"time"
)

// mark is what tells one state of a file from another. A file that is missing has the zero mark.
type mark struct {
	changed time.Time
	size    int64
	inode   uint64
}

// fingerprint is the state of the files that a parent has imported and of the directories in which imports look.
type fingerprint map[string]mark

func markOf(path string) mark {
	info, err := os.Stat(path)
	if err != nil {
		return mark{}
	}
	m := mark{changed: info.ModTime(), size: info.Size()}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		m.inode = stat.Ino
	}
	return m
}

func fingerprintOf(paths []string) fingerprint {
	f := make(fingerprint, len(paths))
	for _, path := range paths {
		f[path] = markOf(path)
	}
	return f
}

// current reports whether no file has changed.
func (f fingerprint) current() bool {
	for path, before := range f {
		if markOf(path) != before {
			return false
		}
	}
	return true
}

// newest is the time of the last change.
func (f fingerprint) newest() time.Time {
	var last time.Time
	for _, m := range f {
		if m.changed.After(last) {
			last = m.changed
		}
	}
	return last
}
