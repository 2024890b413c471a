package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// handOver gives a container that runs as another user what it may write: its own directories, the volumes, and the
// directory of its attempt in the object store. Other users of the machine stay out: the way there opens to this process's
// group, which the container has too.
func (l *launch) handOver(user shim.User, place place) error {
	message := filepath.Join(l.dir, messageFile)
	if err := os.WriteFile(message, nil, 0o600); err != nil {
		return fmt.Errorf("create the container's termination message: %w", err)
	}
	own := []string{place.work, place.home, place.temp, message}
	attempt, err := l.attemptDir()
	if err != nil {
		return err
	}
	if attempt != "" {
		own = append(own, attempt)
	}
	for _, path := range own {
		if err := os.Chown(path, int(user.UID), int(user.GID)); err != nil {
			return fmt.Errorf("hand over the container's files: %w", err)
		}
		if err := l.openWay(filepath.Dir(path)); err != nil {
			return err
		}
	}
	return l.handOverVolumes()
}

// openWay lets the demo's group pass through the directories that lead to a path.
func (l *launch) openWay(dir string) error {
	for _, root := range []string{l.w.n.cfg.DataDir, l.w.n.cfg.Store} {
		for step := dir; root != "" && (step == root || strings.HasPrefix(step, root+"/")); step = filepath.Dir(step) {
			info, err := os.Stat(step)
			if err == nil && info.Mode().Perm()&0o010 == 0 {
				err = os.Chmod(step, info.Mode().Perm()|0o010)
			}
			if err != nil {
				return fmt.Errorf("open the way to the container's files: %w", err)
			}
		}
	}
	return nil
}

// attemptDir creates the attempt's directory in the object store. Parents also write the inputs of their children, beside
// it. Empty means that there is no such store on this machine or that the pod belongs to no run.
func (l *launch) attemptDir() (string, error) {
	labels, store := l.pod.Labels, l.w.n.cfg.Store
	if store == "" || labels[labelRun] == "" || labels[labelAction] == "" {
		return "", nil
	}
	run := filepath.Join(store, segment(labels[labelProject]), segment(labels[labelDomain]), segment(labels[labelRun]))
	attempt := filepath.Join(run, segment(labels[labelAction]), attemptOf(l.pod, l.c))
	if err := os.MkdirAll(attempt, 0o755); err != nil { //nolint:gosec // other tasks of the run read it
		return "", fmt.Errorf("create the attempt's directory in the object store: %w", err)
	}
	if err := os.Chmod(run, 0o777|fs.ModeSticky); err != nil { // tasks of one run may have several users
		return "", fmt.Errorf("open the run's directory in the object store: %w", err)
	}
	return attempt, nil
}

// handOverVolumes makes volumes usable as a kubelet does: everybody may write to an emptyDir, and files of other volumes
// belong to the pod's fsGroup.
func (l *launch) handOverVolumes() error {
	for _, v := range l.pod.Spec.Volumes {
		path := l.volumes[v.Name]
		if path == "" || v.HostPath != nil {
			continue
		}
		var err error
		switch context := l.pod.Spec.SecurityContext; {
		case v.EmptyDir != nil:
			err = os.Chmod(path, 0o777) //nolint:gosec // as said above
		case context != nil && context.FSGroup != nil:
			err = giveToGroup(path, int(*context.FSGroup))
		}
		if err = errors.Join(err, l.openWay(filepath.Dir(path))); err != nil {
			return fmt.Errorf("hand over volume %s: %w", v.Name, err)
		}
	}
	return nil
}

// giveToGroup lets a group read files and directories. It follows no link out of the directory.
func giveToGroup(dir string, group int) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it is only read through
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := root.Lchown(path, -1, group); err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o040
		if entry.IsDir() {
			mode |= 0o010
		}
		return root.Chmod(path, mode)
	})
}

// writable are the directories that a container may write to although its root file system is read-only: what is no file
// of an image either. Volumes are added by the shim.
func (l *launch) writable() []string {
	var dirs []string
	for _, dir := range []string{"/dev/shm", "/proc", l.w.n.cfg.Store, l.dir} {
		if info, err := os.Stat(dir); dir != "" && err == nil && info.IsDir() {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
