package warm

import (
	"crypto/sha256"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// mark is what tells one state of a file or directory from another. One that is missing has the zero mark.
type mark struct {
	changed time.Time // of a file
	size    int64
	inode   uint64
	names   string // of a directory: what is in it, apart from what interpreters write there while they import
}

// fingerprint is the state of the files that a parent has imported and of the directories in which imports look.
type fingerprint map[string]mark

func markOf(path string) mark {
	info, err := os.Stat(path)
	if err != nil {
		return mark{}
	}
	m := mark{}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		m.inode = stat.Ino
	}
	if info.IsDir() {
		m.names = namesIn(path)
		return m
	}
	m.changed, m.size = info.ModTime(), info.Size()
	return m
}

func namesIn(path string) string {
	dir, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(name string) bool { return name == "__pycache__" })
	sum := sha256.Sum256([]byte(strings.Join(names, "/")))
	return string(sum[:])
}

func fingerprintOf(paths []string) fingerprint {
	f := make(fingerprint, len(paths))
	for _, path := range paths {
		f[path] = markOf(path)
	}
	return f
}

// changed names a file that has changed, or nothing.
func (f fingerprint) changed() string {
	for path, before := range f {
		if markOf(path) != before {
			return path
		}
	}
	return ""
}

// newest is the file that changed last, and when.
func (f fingerprint) newest() (path string, last time.Time) {
	for name, m := range f {
		if m.changed.After(last) {
			path, last = name, m.changed
		}
	}
	return path, last
}
