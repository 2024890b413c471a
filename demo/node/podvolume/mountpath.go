package podvolume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// add finds a way for one mount. outer are the mounts before it. Called with the lock held.
func (m *Mounter) add(plan *Plan, outer []Mount, mount Mount, protect []string) error {
	target := filepath.Clean(mount.Target)
	if !filepath.IsAbs(target) || target == "/" {
		return fmt.Errorf("the mount path %q is not an absolute path below the root", mount.Target)
	}
	info, err := os.Stat(mount.Source)
	if err != nil {
		return fmt.Errorf("the volume for %s: %w", target, err)
	}
	if m.namespaces {
		return m.bind(plan, outer, mount, target, info.IsDir(), protect)
	}
	why := m.link(plan, mount, target)
	if why == nil {
		return nil
	}
	rewrite := Rewrite{From: target, To: mount.Source}
	plan.Rewrites = append(plan.Rewrites, rewrite)
	if existing, err := os.Lstat(target); mount.Scratch && err == nil && existing.IsDir() && writable(target) {
		return nil // such as /tmp
	}
	plan.Unseen = append(plan.Unseen, Unseen{rewrite, why})
	return nil
}

// bind prepares a mount in a namespace: the target must exist, but its content stays untouched.
func (m *Mounter) bind(plan *Plan, outer []Mount, mount Mount, target string, dir bool, protect []string) error {
	for _, path := range protect {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if path == target || strings.HasPrefix(path, target+"/") {
			return fmt.Errorf("a volume at %s would hide %s, which the process needs on this machine", target, path)
		}
	}
	plan.Binds = append(plan.Binds, shim.Mount{Source: mount.Source, Target: target, ReadOnly: mount.ReadOnly})
	for i := len(outer) - 1; i >= 0; i-- {
		// Inside another volume, the mount point is created in that volume.
		if rest, ok := strings.CutPrefix(target, filepath.Clean(outer[i].Target)+"/"); ok {
			_, err := makePoint(filepath.Join(outer[i].Source, rest), dir)
			return err
		}
	}
	var parents []string
	_, err := os.Stat(target)
	switch {
	case err == nil && m.others[target] == nil: // the machine's own, or made by this node
		m.use(plan, target)
		return nil
	case err != nil:
		if parents, err = makePoint(target, dir); err != nil {
			return fmt.Errorf("the mount path %s cannot be made on this machine: %w", target, err)
		}
	}
	p := m.created[target] // with its users, if someone has removed the path from under them
	if p == nil {
		p = &point{}
		m.created[target] = p
	}
	p.Parents = m.parents(target, append(parents, p.Parents...))
	m.use(plan, target)
	return nil
}

// link makes the target a symbolic link to the volume, seen by the whole machine, if nothing is there.
func (m *Mounter) link(plan *Plan, mount Mount, target string) error {
	if to, err := os.Readlink(target); err == nil {
		p := m.created[target]
		switch {
		case to == mount.Source && p != nil:
			m.use(plan, target)
			return nil
		case p != nil && p.refs == 0 && p.Link == to: // left behind
			m.remove(target, p)
		case p != nil:
			return fmt.Errorf("%s is in use by another pod of this machine", target)
		}
	}
	if m.others[target] != nil {
		return fmt.Errorf("%s is in use by another demo of this machine", target)
	}
	if _, err := os.Lstat(target); err == nil {
		return fmt.Errorf("%s exists on this machine", target)
	}
	parents, err := makeParents(target)
	if err != nil {
		return err
	}
	if err := os.Symlink(mount.Source, target); err != nil {
		for i := len(parents) - 1; i >= 0; i-- {
			_ = os.Remove(parents[i])
		}
		return err
	}
	m.created[target] = &point{Link: mount.Source, Parents: m.parents(target, parents)}
	m.use(plan, target)
	return nil
}

// makePoint creates an empty directory or file, and returns which parents it had to create.
func makePoint(path string, dir bool) (parents []string, err error) {
	if _, err := os.Stat(path); err == nil {
		return nil, nil
	}
	parents, err = makeParents(path)
	if err != nil {
		return nil, err
	}
	if dir {
		return parents, os.Mkdir(path, 0o755) //nolint:gosec // shows the volume's own mode
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // as above
	if err != nil {
		return nil, err
	}
	return parents, file.Close()
}

func makeParents(path string) ([]string, error) {
	var missing []string
	for parent := filepath.Dir(path); ; parent = filepath.Dir(parent) {
		_, err := os.Stat(parent)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		missing = append([]string{parent}, missing...)
	}
	for i, parent := range missing {
		if err := os.Mkdir(parent, 0o755); err != nil { //nolint:gosec // a directory such as /etc/flyte
			for ; i > 0; i-- {
				_ = os.Remove(missing[i-1])
			}
			return nil, err
		}
	}
	return missing, nil
}

func writable(dir string) bool {
	file, err := os.CreateTemp(dir, ".flyte-*")
	if err != nil {
		return false
	}
	_ = file.Close()
	return os.Remove(file.Name()) == nil
}
