package security

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// Machine is what a security context is compared with.
type Machine struct {
	UID, GID   int
	Groups     []int
	Linux      bool
	Namespaces bool // containers can have a mount namespace
}

// root reports whether processes may get other rights than those of this process.
func (m Machine) root() bool { return m.Linux && m.UID == 0 }

// Translate translates the security contexts of a pod and of one of its containers. What this machine cannot do is an
// error for the author of the task, never dropped.
func Translate(pod *corev1.PodSecurityContext, own *corev1.SecurityContext, m Machine) (shim.Security, error) {
	var s shim.Security
	if pod == nil {
		pod = &corev1.PodSecurityContext{}
	}
	if own == nil {
		own = &corev1.SecurityContext{}
	}
	if err := impossible(pod, own); err != nil {
		return s, err
	}
	var err error
	if s.User, err = userOf(pod, own, m); err != nil {
		return s, err
	}
	if s.Drop, err = dropped(own.Capabilities, s.User, m); err != nil {
		return s, err
	}
	if own.AllowPrivilegeEscalation != nil && !*own.AllowPrivilegeEscalation {
		if !m.Linux {
			return s, refused("allowPrivilegeEscalation", "this system cannot keep a process from gaining rights")
		}
		s.NoNewPrivileges = true
	}
	if own.ReadOnlyRootFilesystem != nil && *own.ReadOnlyRootFilesystem {
		if !m.Namespaces {
			return s, refused("readOnlyRootFilesystem", "it needs mount namespaces, which are available to root on Linux only")
		}
		s.ReadOnlyRoot = true
		s.Drop = withoutUndoing(s.Drop, own.Capabilities)
	}
	return s, nil
}

// withoutUndoing adds the capabilities to those that are dropped with which root could make a read-only file system writable again, or
// get around it. Containers of a cluster do not have them either, but for MKNOD. What is added by name stays.
func withoutUndoing(drop []int, wanted *corev1.Capabilities) []int {
	for _, name := range []string{"SYS_ADMIN", "SYS_PTRACE", "SYS_RAWIO", "SYS_MODULE", "DAC_READ_SEARCH", "MKNOD"} {
		number := slices.Index(Capabilities(), name)
		added := wanted != nil && slices.ContainsFunc(wanted.Add, func(one corev1.Capability) bool {
			return strings.TrimPrefix(strings.ToUpper(string(one)), "CAP_") == name
		})
		if !added && !slices.Contains(drop, number) {
			drop = append(drop, number)
		}
	}
	return drop
}

// refused explains what a container asks for and does not get.
func refused(field, why string, args ...any) error {
	return fmt.Errorf("securityContext.%s: containers run as processes of this machine, and %s. Leave it out, or run the task in a "+
		"cluster", field, fmt.Sprintf(why, args...))
}

// impossible names what processes of a machine never have. The default profiles of seccomp and AppArmor are those of the
// runtime, which has none here.
func impossible(pod *corev1.PodSecurityContext, own *corev1.SecurityContext) error {
	switch {
	case own.Privileged != nil && *own.Privileged:
		return refused("privileged", "they get no more rights than the demo has")
	case own.SELinuxOptions != nil || pod.SELinuxOptions != nil:
		return refused("seLinuxOptions", "they have no labels of their own")
	case own.WindowsOptions != nil || pod.WindowsOptions != nil:
		return refused("windowsOptions", "this is not Windows")
	case len(pod.Sysctls) > 0:
		return refused("sysctls", "its kernel's settings are not theirs to change")
	}
	for _, profile := range []*corev1.SeccompProfile{pod.SeccompProfile, own.SeccompProfile} {
		if profile != nil && profile.Type == corev1.SeccompProfileTypeLocalhost {
			return refused("seccompProfile", "profiles of a node do not exist here")
		}
	}
	for _, profile := range []*corev1.AppArmorProfile{pod.AppArmorProfile, own.AppArmorProfile} {
		if profile != nil && profile.Type == corev1.AppArmorProfileTypeLocalhost {
			return refused("appArmorProfile", "profiles of a node do not exist here")
		}
	}
	return nil
}

// userOf is who a container runs as; nil is the user of this process.
func userOf(pod *corev1.PodSecurityContext, own *corev1.SecurityContext, m Machine) (*shim.User, error) {
	uid, gid := first(own.RunAsUser, pod.RunAsUser), first(own.RunAsGroup, pod.RunAsGroup)
	nonRoot := first(own.RunAsNonRoot, pod.RunAsNonRoot)
	effective := int64(m.UID)
	if uid != nil {
		effective = *uid
	}
	if nonRoot != nil && *nonRoot && effective == 0 {
		return nil, refused("runAsNonRoot", "this one would run as root: name another user with runAsUser, or start the demo as another user")
	}
	extra := slices.Clone(pod.SupplementalGroups)
	if pod.FSGroup != nil {
		extra = append(extra, *pod.FSGroup)
	}
	if !m.root() {
		return nil, m.has(uid, gid, extra)
	}
	if (uid == nil || *uid == 0) && (gid == nil || *gid == int64(m.GID)) && len(extra) == 0 {
		return nil, nil //nolint:nilnil // it is this process's
	}
	// The group of the demo comes with it: it opens the directories that belong to the container.
	user := &shim.User{UID: uint32(effective), GID: uint32(m.GID), Groups: []uint32{uint32(m.GID)}} //nolint:gosec // validated by the API server
	if gid != nil {
		user.GID = uint32(*gid) //nolint:gosec // as above
	}
	for _, group := range extra {
		user.Groups = append(user.Groups, uint32(group)) //nolint:gosec // as above
	}
	return user, nil
}

// has checks that an identity is that of this process, which cannot change it.
func (m Machine) has(uid, gid *int64, groups []int64) error {
	switch {
	case uid != nil && *uid != int64(m.UID):
		return refused("runAsUser", "only root on Linux can start them as another user: the demo runs as user %d and this asks for user %d", m.UID, *uid)
	case gid != nil && *gid != int64(m.GID):
		return refused("runAsGroup", "only root on Linux can start them in another group: the demo runs in group %d and this asks for group %d", m.GID, *gid)
	}
	for _, group := range groups {
		if int64(m.GID) != group && !slices.Contains(m.Groups, int(group)) {
			return refused("supplementalGroups and fsGroup", "only root on Linux can start them in further groups: the demo is not in group %d", group)
		}
	}
	return nil
}

// dropped are the numbers of the capabilities that a container must not have.
func dropped(wanted *corev1.Capabilities, user *shim.User, m Machine) ([]int, error) {
	if wanted == nil {
		return nil, nil
	}
	// A container of another user has no capabilities, whatever it adds, and those of root have what the demo has.
	if len(wanted.Add) > 0 && (m.UID != 0 || (user != nil && user.UID != 0)) {
		return nil, refused("capabilities.add", "only those of root have any")
	}
	if len(wanted.Drop) == 0 || m.UID != 0 {
		return nil, nil // who is not root has none
	}
	if !m.Linux {
		return nil, refused("capabilities.drop", "this system has no capabilities")
	}
	var numbers []int
	for _, name := range wanted.Drop {
		if name == "ALL" {
			for number, known := range Capabilities() {
				if !slices.Contains(wanted.Add, corev1.Capability(known)) {
					numbers = append(numbers, number)
				}
			}
			return numbers, nil
		}
		number := slices.Index(Capabilities(), strings.TrimPrefix(strings.ToUpper(string(name)), "CAP_"))
		if number < 0 {
			return nil, refused("capabilities.drop", "%q is not a capability of its kernel", name)
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}

// Capabilities are the names of the kernel's capabilities by their numbers.
func Capabilities() []string {
	return []string{
		"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "LINUX_IMMUTABLE",
		"NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT",
		"SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE",
		"AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ",
		"PERFMON", "BPF", "CHECKPOINT_RESTORE",
	}
}

// first is the first value that is set; a container's own comes before its pod's.
func first[T any](values ...*T) *T {
	for _, value := range values {
		if value != nil {
			return value
		}
	}
	return nil
}
