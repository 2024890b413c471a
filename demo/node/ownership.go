package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/flyte-binary/flyte-binary/demo/node/security"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
)

// envRunBase is the variable with the directory of the task's run in the object store.
const envRunBase = "_U_RUN_BASE"

// handOver gives a container that runs as another user what it may write: its own directories, the volumes, and the
// directory of its attempt in the object store. Other users of the machine stay out: the way there opens to this process's
// group, which the container has too.
func (l *launch) handOver(user shim.User, place place) error {
	message := filepath.Join(l.dir, messageFile)
	if err := os.WriteFile(message, nil, 0o600); err != nil {
		return fmt.Errorf("create the container's termination message: %w", err)
	}
	for _, path := range []string{place.work, place.home, place.temp, message} {
		if err := os.Chown(path, int(user.UID), int(user.GID)); err != nil {
			return fmt.Errorf("hand over the container's files: %w", err)
		}
		if err := l.openWay(filepath.Dir(path)); err != nil {
			return err
		}
	}
	if err := l.handOverAttempt(user); err != nil {
		return fmt.Errorf("hand over the attempt's directory in the object store: %w", err)
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

// handOverAttempt creates the attempt's directory in the object store. Parents also write the inputs of their children
// there, in the run's directory. It does nothing if the store is not on this machine or the pod belongs to no run, and
// follows no link out of the store.
func (l *launch) handOverAttempt(user shim.User) error {
	run := l.runDir()
	if run == "" {
		return nil
	}
	root, err := os.OpenRoot(l.w.n.cfg.Store)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing is written through the handle itself
	action := filepath.Join(run, segment(l.pod.Labels[labelAction]))
	attempt := filepath.Join(action, attemptOf(l.pod, l.c))
	if err := root.MkdirAll(attempt, 0o755); err != nil {
		return err
	}
	if err := root.Chmod(run, 0o777|fs.ModeSticky); err != nil { // tasks of one run may have several users
		return err
	}
	if err := root.Chown(attempt, int(user.UID), int(user.GID)); err != nil {
		return err
	}
	return l.openWay(filepath.Join(l.w.n.cfg.Store, action))
}

// runDir is the run's directory, relative to the object store. The executor sets its variable last, so tasks cannot
// change it; still, only a directory of the store that carries the run's name is accepted.
func (l *launch) runDir() string {
	store, run := l.w.n.cfg.Store, l.pod.Labels[labelRun]
	if store == "" || run == "" || l.pod.Labels[labelAction] == "" {
		return ""
	}
	for _, variable := range l.c.Env {
		if variable.Name != envRunBase {
			continue
		}
		relative, err := filepath.Rel(store, filepath.Clean(variable.Value))
		if err == nil && filepath.IsLocal(relative) && blobpath.IsRunDir(filepath.Base(relative), run) {
			return relative
		}
	}
	return ""
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

// writable are the directories that a container may write to although its root file system is read-only: what is not a file
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

func (n *Node) machine() security.Machine {
	groups, _ := os.Getgroups()
	return security.Machine{
		UID: os.Geteuid(), GID: os.Getegid(), Groups: groups, Linux: runtime.GOOS == "linux", Namespaces: n.mounter.Namespaces(),
	}
}
