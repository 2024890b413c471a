package node

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/demo/node/security"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

func ref[T any](value T) *T { return &value }

func TestSecurityContextIsHonouredOrRefused(t *testing.T) {
	user := security.Machine{UID: 1000, GID: 100, Groups: []int{100, 27}, Linux: true}
	root := security.Machine{Linux: true, Namespaces: true, Groups: []int{0}}
	mac := security.Machine{UID: 501, GID: 20}
	for name, tc := range map[string]struct {
		pod     corev1.PodSecurityContext
		own     corev1.SecurityContext
		on      security.Machine
		want    shim.Security
		refused string
	}{
		"nothing":                     {on: user},
		"no new privileges":           {own: corev1.SecurityContext{AllowPrivilegeEscalation: ref(false)}, on: user, want: shim.Security{NoNewPrivileges: true}},
		"no new privileges elsewhere": {own: corev1.SecurityContext{AllowPrivilegeEscalation: ref(false)}, on: mac, refused: "allowPrivilegeEscalation"},
		"privileged":                  {own: corev1.SecurityContext{Privileged: ref(true)}, on: root, refused: "privileged"},
		"own user":                    {own: corev1.SecurityContext{RunAsUser: ref(int64(1000)), RunAsGroup: ref(int64(100))}, on: user},
		"another user":                {pod: corev1.PodSecurityContext{RunAsUser: ref(int64(1001))}, on: user, refused: "runs as user 1000 and this asks for user 1001"},
		"another group":               {own: corev1.SecurityContext{RunAsGroup: ref(int64(5))}, on: user, refused: "runs in group 100 and this asks for group 5"},
		"further group":               {pod: corev1.PodSecurityContext{SupplementalGroups: []int64{27}}, on: user},
		"foreign group":               {pod: corev1.PodSecurityContext{FSGroup: ref(int64(28))}, on: user, refused: "not in group 28"},
		"not root":                    {pod: corev1.PodSecurityContext{RunAsNonRoot: ref(true)}, on: user},
		"not root as root":            {pod: corev1.PodSecurityContext{RunAsNonRoot: ref(true)}, on: root, refused: "runAsNonRoot"},
		"root changes the user":       {pod: corev1.PodSecurityContext{RunAsUser: ref(int64(7)), RunAsNonRoot: ref(true)}, on: root, want: shim.Security{User: &shim.User{UID: 7, Groups: []uint32{0}}}},
		"the container's own comes first": {
			pod: corev1.PodSecurityContext{RunAsUser: ref(int64(7)), FSGroup: ref(int64(9))},
			own: corev1.SecurityContext{RunAsUser: ref(int64(8)), RunAsGroup: ref(int64(3))}, on: root,
			want: shim.Security{User: &shim.User{UID: 8, GID: 3, Groups: []uint32{0, 9}}},
		},
		"read-only root":              {own: corev1.SecurityContext{ReadOnlyRootFilesystem: ref(true)}, on: root, want: shim.Security{ReadOnlyRoot: true, Drop: []int{21, 19, 17, 16, 2, 27}}},
		"read-only root as a user":    {own: corev1.SecurityContext{ReadOnlyRootFilesystem: ref(true)}, on: user, refused: "mount namespaces"},
		"capabilities of a user":      {own: corev1.SecurityContext{Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}, on: user},
		"more capabilities of a user": {own: corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}}}, on: user, refused: "capabilities.add"},
		"capabilities of root":        {own: corev1.SecurityContext{Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"CHOWN", "cap_kill"}}}, on: root, want: shim.Security{Drop: []int{0, 5}}},
		"unknown capability":          {own: corev1.SecurityContext{Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"FLY"}}}, on: root, refused: `"FLY"`},
		"default profile":             {pod: corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}, on: user},
		"own profile":                 {own: corev1.SecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost}}, on: user, refused: "seccompProfile"},
		"own armor":                   {own: corev1.SecurityContext{AppArmorProfile: &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost}}, on: user, refused: "appArmorProfile"},
		"labels":                      {pod: corev1.PodSecurityContext{SELinuxOptions: &corev1.SELinuxOptions{}}, on: user, refused: "seLinuxOptions"},
		"settings of the kernel":      {pod: corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{}}}, on: user, refused: "sysctls"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := security.Translate(&tc.pod, &tc.own, tc.on)
			if tc.refused != "" {
				require.ErrorContains(t, err, "securityContext.")
				require.ErrorContains(t, err, tc.refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestAllCapabilitiesButSome(t *testing.T) {
	own := corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"CHOWN"}, Drop: []corev1.Capability{"ALL"}}}
	got, err := security.Translate(nil, &own, security.Machine{Linux: true})
	require.NoError(t, err)
	require.NotContains(t, got.Drop, 0)
	require.Len(t, got.Drop, len(security.Capabilities())-1)
}
