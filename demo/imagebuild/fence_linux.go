package imagebuild

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/flyte-binary/flyte-binary/demo/node/podvolume"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// fenced keeps a command of root from changing the machine: images have commands that are meant for the files of a
// container. The command sees everything, and may write to the files of its image alone. It has the capabilities that a step of an
// image build has in a container, so that it cannot undo the fence. Without root, the rights of the user are the fence.
func (w *worker) fenced(t tool) tool {
	if os.Geteuid() != 0 {
		return t
	}
	own, err := os.Executable()
	if err != nil || !podvolume.HaveNamespaces() {
		w.build.say("Note: this machine does not allow mount namespaces, so the command runs with all rights of the demo.")
		return t
	}
	args := []string{Name, fenceName, "--", w.env.Venv, w.env.Files, w.scratch, "--", t.path}
	t.args, t.path = append(args, t.args...), own
	t.attr = func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS} }
	return t
}

// kept are the capabilities of a command: CHOWN, DAC_OVERRIDE, FOWNER, FSETID, SETGID, SETUID, NET_BIND_SERVICE, SYS_CHROOT,
// AUDIT_WRITE and SETFCAP.
var kept = []int{0, 1, 3, 4, 6, 7, 10, 18, 29, 31} //nolint:gochecknoglobals // a table

// fence runs a command that may write only to some directories. It returns only if that fails.
func fence(writable, command []string) error {
	if len(command) == 0 {
		return errors.New("no command is given")
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	runtime.LockOSThread() // rights belong to a thread
	if err := shim.CloseRoot(writable); err != nil {
		return err
	}
	if err := shim.Confine(kept); err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil { // the same directory, now writable
		return fmt.Errorf("go to the working directory: %w", err)
	}
	if err := syscall.Exec(command[0], command, os.Environ()); err != nil {
		return fmt.Errorf("start %s: %w", command[0], err)
	}
	return nil
}
