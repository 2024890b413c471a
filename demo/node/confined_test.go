package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
)

// confined is a pod with a security context of its container.
func (b *bundle) confined(script string, own corev1.SecurityContext, change ...func(*corev1.Pod)) *corev1.Pod {
	return b.shell(script, append(change, func(p *corev1.Pod) { p.Spec.Containers[0].SecurityContext = &own })...)
}

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may give processes other rights")
	}
}

func TestASecurityContextThatIsImpossibleIsExplained(t *testing.T) {
	b := setup(t)
	pod := b.run(t, b.confined("exit 0", corev1.SecurityContext{
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: ptr("strict.json")},
	}))
	require.Equal(t, corev1.PodFailed, pod.Status.Phase)
	require.Equal(t, "StartError", terminated(pod).Reason)
	require.Contains(t, terminated(pod).Message, "securityContext.seccompProfile")
}

func TestNoNewPrivileges(t *testing.T) {
	b := setup(t)
	pod := b.run(t, b.confined("grep NoNewPrivs /proc/self/status", corev1.SecurityContext{AllowPrivilegeEscalation: ptr(false)}))
	require.Equal(t, corev1.PodSucceeded, pod.Status.Phase)
	require.Equal(t, "NoNewPrivs:\t1\n", b.logs(t, pod, &corev1.PodLogOptions{}))
}

// A container that runs as another user can write to everything that is its own, and to its attempt in the object store.
func TestAnotherUser(t *testing.T) {
	needsRoot(t)
	outside := t.TempDir()
	for dir := outside; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o711)) // the test's own directories are closed
	}
	store, scratch := filepath.Join(outside, "blobs"), filepath.Join(outside, "scratch")
	require.NoError(t, os.Mkdir(store, 0o700))
	b := setup(t, func(c *nodeConfig) { c.Store = store })
	run := filepath.Join(store, "p", "d", blobpath.RunDir("r", []byte("request")))
	attempt := filepath.Join(run, "a", "1")
	pod := b.run(t, b.confined(
		"id -u; echo x >work && echo x >$HOME/x && echo x >$TMPDIR/x && echo x >"+scratch+"/x && echo x >"+attempt+"/outputs.pb && mkdir "+
			filepath.Join(run, "child")+" && echo x >/dev/stderr && grep CapEff /proc/self/status",
		corev1.SecurityContext{RunAsUser: ptr(int64(4321)), RunAsGroup: ptr(int64(4321))}, func(p *corev1.Pod) {
			ofRun(p, run)
			withVolumes(map[string]corev1.VolumeSource{scratch: {EmptyDir: &corev1.EmptyDirVolumeSource{}}})(p)
		}))
	require.Equal(t, corev1.PodSucceeded, pod.Status.Phase, terminated(pod))
	lines := strings.Fields(b.logs(t, pod, &corev1.PodLogOptions{}))
	require.Contains(t, lines, "4321") // the lines of its two streams have no order
	require.Contains(t, lines, "0000000000000000", "no rights of root are left")
	info, err := os.Stat(store)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o007, "other users of the machine stay out")
}

// A user of its own is given the directory of its own run and no other: not one of another run, not one out of the store,
// and not what a link of the store leads to.
func TestAnotherUserIsNotGivenOtherDirectories(t *testing.T) {
	needsRoot(t)
	store, elsewhere := t.TempDir(), t.TempDir()
	name := blobpath.RunDir("r", []byte("request"))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(store, "link")))
	b := setup(t, func(c *nodeConfig) { c.Store = store })
	for _, base := range []string{
		filepath.Join(store, "p", "d", "r"), filepath.Join(store, "p", "d", blobpath.RunDir("other", []byte("request"))),
		filepath.Join(elsewhere, name), filepath.Join(store, "..", filepath.Base(elsewhere), name),
	} {
		pod := b.run(t, b.confined("true", corev1.SecurityContext{RunAsUser: ptr(int64(4321))}, func(p *corev1.Pod) { ofRun(p, base) }))
		require.Equal(t, corev1.PodSucceeded, pod.Status.Phase, terminated(pod))
		require.NoDirExists(t, base)
	}
	pod := b.run(t, b.confined("true", corev1.SecurityContext{RunAsUser: ptr(int64(4321))}, func(p *corev1.Pod) {
		ofRun(p, filepath.Join(store, "link", name))
	}))
	require.Equal(t, corev1.PodFailed, pod.Status.Phase, "a link out of the store")
	require.NoDirExists(t, filepath.Join(elsewhere, name))
}

// ofRun makes a pod the first attempt of action a of run r, whose directory is given.
func ofRun(p *corev1.Pod, dir string) {
	p.Labels = map[string]string{
		"flyte.org/project": "p", "flyte.org/domain": "d", "flyte.org/run": "r", "flyte.org/action": "a", "flyte.org/attempt": "1",
	}
	for i := range p.Spec.Containers {
		p.Spec.Containers[i].Env = append(p.Spec.Containers[i].Env, corev1.EnvVar{Name: "_U_RUN_BASE", Value: dir + "/"})
	}
}

func TestDroppedCapabilities(t *testing.T) {
	needsRoot(t)
	b := setup(t)
	pod := b.run(t, b.confined("grep CapEff /proc/self/status", corev1.SecurityContext{
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}))
	require.Equal(t, "CapEff:\t0000000000000000\n", b.logs(t, pod, &corev1.PodLogOptions{}))
}

func TestReadOnlyRoot(t *testing.T) {
	needsRoot(t)
	store, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	b := setup(t, func(c *nodeConfig) { c.Store = store })
	pod := b.run(t, b.confined(
		"echo x >"+data+"/x && echo x >/dev/null && echo x >"+store+"/x && ! touch work 2>/dev/null && ! touch /etc/x 2>/dev/null && ! mount -o remount,rw / 2>/dev/null && "+
			"! nsenter -t 1 -m touch /etc/x 2>/dev/null && echo closed",
		corev1.SecurityContext{ReadOnlyRootFilesystem: ptr(true)},
		withVolumes(map[string]corev1.VolumeSource{data: {EmptyDir: &corev1.EmptyDirVolumeSource{}}}),
	))
	require.Equal(t, corev1.PodSucceeded, pod.Status.Phase)
	require.Equal(t, "closed\n", b.logs(t, pod, &corev1.PodLogOptions{}))
	require.NoFileExists(t, "/etc/x")
}

// The default environment never replaces an image silently.
func TestImagesThatNobodyMapped(t *testing.T) {
	environment := t.TempDir()
	b := setup(t, func(c *nodeConfig) { c.Environment = environment })
	pod := b.run(t, b.shell("echo done"))
	require.Equal(t, corev1.PodSucceeded, pod.Status.Phase)
	log := b.logs(t, pod, &corev1.PodLogOptions{})
	require.True(t, strings.HasPrefix(log, "[local node] no environment is mapped to image test"), log)
	require.True(t, strings.HasSuffix(log, "\ndone\n"), log)
	require.Contains(t, b.event(t, pod, "ImageNotMapped"), environment)
	var notice *corev1.PodCondition
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == "flyte.org/Notice" {
			notice = &pod.Status.Conditions[i]
		}
	}
	require.NotNil(t, notice)
	require.Equal(t, corev1.ConditionTrue, notice.Status)
	require.Contains(t, notice.Message, "--image")
}

func TestTheEndOfPythonPathIsTheNodes(t *testing.T) {
	b := setup(t, func(c *nodeConfig) { c.PythonPath = "/library" })
	for own, want := range map[string]string{"": "/library", "/mine": "/mine:/library"} {
		pod := b.run(t, b.shell("echo $PYTHONPATH", func(p *corev1.Pod) {
			if own != "" {
				p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PYTHONPATH", Value: own}}
			}
		}))
		require.Equal(t, want+"\n", b.logs(t, pod, &corev1.PodLogOptions{}))
	}
}
