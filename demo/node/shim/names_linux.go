package shim

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// hostsFile is where programs look up names.
const hostsFile = "/etc/hosts"

// NamesCommand is the first argument of this program that makes it see a file as /etc/hosts and then become another program, in
// the namespaces that it was started in. The other arguments are the file, the executable and its arguments with the name as the
// first.
const NamesCommand = "internal-names"

const (
	capSysAdmin         = 21
	prCapAmbient        = 47
	prCapAmbientClear   = 4
	exitNoNames         = 125
	namesArgumentsFixed = 2
)

// GivesNames reports whether processes of this machine can see another /etc/hosts. It tries.
func GivesNames() bool {
	if os.Geteuid() == 0 {
		works := make(chan bool, 1)
		go func() {
			runtime.LockOSThread() // the thread ends with the goroutine, and its namespace with it
			works <- mountAll([]Mount{{Source: hostsFile, Target: hostsFile}}) == nil
		}()
		return <-works
	}
	cmd := exec.Command("/proc/self/exe", NamesCommand, hostsFile, "/bin/sh", "sh", "-c", ":") //nolint:noctx // it ends at once
	cmd.Env = Environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	ownNamespaces(cmd.SysProcAttr)
	return cmd.Run() == nil
}

// ownNamespaces lets a process that is not root mount files for itself.
func ownNamespaces(sys *syscall.SysProcAttr) {
	uid, gid := os.Getuid(), os.Getgid()
	sys.Cloneflags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS
	sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	sys.AmbientCaps = []uintptr{capSysAdmin}
}

// named returns what to execute so that the container has its names. Root has mounted them already.
func (s *supervisor) named(sys *syscall.SysProcAttr) (path string, argv []string) {
	file := s.spec.hosts()
	if file == "" || os.Geteuid() == 0 {
		return s.spec.Path, s.spec.Argv
	}
	ownNamespaces(sys)
	return "/proc/self/exe", append([]string{"flyte-binary", NamesCommand, file, s.spec.Path}, s.spec.Argv...)
}

// RunWithNames becomes a program that sees a file as /etc/hosts, see NamesCommand. It returns only if it cannot.
func RunWithNames(args []string) int {
	runtime.LockOSThread()
	if len(args) <= namesArgumentsFixed {
		return exitBadSpec
	}
	// The namespace has the mounts of another user, which are shared with it and locked.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SLAVE, ""); err != nil {
		return complain("keep mounts private", err)
	}
	if err := syscall.Mount(args[0], hostsFile, "", syscall.MS_BIND, ""); err != nil {
		return complain("mount the names", err)
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prCapAmbient, prCapAmbientClear, 0, 0, 0, 0); errno != 0 {
		return complain("give up rights", errno)
	}
	return complain("start "+args[1], syscall.Exec(args[1], args[namesArgumentsFixed:], os.Environ()))
}

func complain(what string, err error) int {
	_, _ = os.Stderr.WriteString("[local node] cannot " + what + ": " + err.Error() + "\n")
	return exitNoNames
}
