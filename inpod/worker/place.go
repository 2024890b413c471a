package worker

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// place is the working directory of attempts that follow each other. Each finds what a new container would have: what was
// there when the worker started, and the code of its bundle.
type place struct {
	dir    string
	origin map[string]struct{} // names in dir when the worker started, whose contents are left alone
	bundle map[string]fileMark // paths of the bundle, relative to dir; nil if there is none
}

// fileMark tells one state of a file from another.
type fileMark struct {
	inode         uint64
	size          int64
	seconds, nano int64 // of the last change of anything, which no program can set
	dir           bool
}

// newPlace remembers what the directory has now, before any attempt. A directory that cannot be read is an error:
// restore would delete what belongs to the image.
func newPlace(dir string) (*place, error) {
	p := &place{dir: dir, origin: map[string]struct{}{}}
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		p.origin[entry.Name()] = struct{}{}
	}
	return p, err
}

// keep takes what is there now for the bundle.
func (p *place) keep() (err error) {
	p.bundle, err = p.scan()
	return err
}

// restore removes what was added. It reports false if a file of the bundle was changed: then the bundle is gone, and its next attempt
// gets the code again.
func (p *place) restore() (bool, error) {
	now, err := p.scan()
	if err != nil {
		return false, err
	}
	whole := true
	for path, mark := range p.bundle {
		found, exists := now[path]
		same := found == mark || found.dir && mark.dir // a directory changes with what is in it
		whole = whole && exists && same
	}
	if !whole {
		p.bundle = nil
	}
	for path := range now {
		if _, wanted := p.bundle[path]; !wanted {
			if err := os.RemoveAll(filepath.Join(p.dir, path)); err != nil {
				return false, err
			}
		}
	}
	return whole, nil
}

// scan lists everything that was not there when the worker started, by path.
func (p *place) scan() (map[string]fileMark, error) {
	found := map[string]fileMark{}
	err := filepath.WalkDir(p.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == p.dir {
			return err
		}
		name, err := filepath.Rel(p.dir, path)
		if err != nil {
			return err
		}
		if _, original := p.origin[name]; original {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		found[name] = markOf(info)
		return nil
	})
	return found, err
}

func markOf(info fs.FileInfo) fileMark {
	m := fileMark{size: info.Size(), dir: info.IsDir()}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		m.inode = stat.Ino
		m.seconds, m.nano = changed(stat)
	}
	return m
}
