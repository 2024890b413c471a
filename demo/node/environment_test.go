package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// objects creates a ConfigMap "settings" and a Secret "hidden".
func (b *bundle) objects(t *testing.T) {
	t.Helper()
	_, err := b.client.CoreV1().ConfigMaps(b.namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"colour": "red"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = b.client.CoreV1().Secrets(b.namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "hidden"}, Data: map[string][]byte{"key": []byte("value")},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func configKey() *corev1.EnvVarSource {
	return &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "colour",
	}}
}

func secretKey() *corev1.EnvVarSource {
	return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "hidden"}, Key: "key",
	}}
}

func TestEnvironmentOfAContainer(t *testing.T) {
	for name, value := range map[string]string{
		"UCTL_CONFIG": "x", "FLYTECTL_CONFIG": "x", "_UNION_EAGER_API_KEY": "x", "EAGER_API_KEY": "x", "PRIVATE_OF_THE_SHELL": "x",
		"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "example.org", "TZ": "UTC",
	} {
		t.Setenv(name, value)
	}
	environment := t.TempDir()
	b := setup(t, func(c *nodeConfig) {
		c.Environment = environment
		c.Env = map[string]string{"FROM_NODE": "1", "BOTH": "node"}
	})
	b.objects(t)
	pod := b.run(t, b.shell("env", func(p *corev1.Pod) {
		p.Labels = map[string]string{"l": "label"}
		p.Spec.Containers[0].Env = []corev1.EnvVar{
			{Name: "PLAIN", Value: "1"},
			{Name: "DEPENDENT", Value: "$(PLAIN)-$(COLOUR)"},
			{Name: "COLOUR", ValueFrom: configKey()},
			{Name: "SECRET", ValueFrom: secretKey()},
			{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
			{Name: "LABEL", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['l']"}}},
			{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
			{Name: "ADDRESS", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
			{Name: "CPUS", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
			{Name: "BOTH", Value: "container"},
		}
		p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{
			Prefix: "ALL_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "hidden"}},
		}}
		p.Spec.Containers[0].Args = nil
	}))
	require.Equal(t, corev1.PodSucceeded, pod.Status.Phase)
	seen := map[string]string{}
	for line := range strings.Lines(b.logs(t, pod, &corev1.PodLogOptions{})) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		seen[name] = value
	}
	for name, value := range map[string]string{
		"PLAIN": "1", "DEPENDENT": "1-$(COLOUR)", "COLOUR": "red", "SECRET": "value", "POD": pod.Name, "LABEL": "label",
		"NODE": b.cfg.Name, "ADDRESS": "127.0.0.1", "CPUS": "8", "ALL_key": "value", "FROM_NODE": "1", "BOTH": "container",
		"PYTHONUNBUFFERED": "1", "VIRTUAL_ENV": environment, "TZ": "UTC", "HTTPS_PROXY": "http://proxy:3128",
		"NO_PROXY": "example.org,localhost,127.0.0.1,::1,ip6-localhost", "no_proxy": "localhost,127.0.0.1,::1,ip6-localhost",
	} {
		require.Equal(t, value, seen[name], name)
	}
	for _, name := range []string{
		"UCTL_CONFIG", "FLYTECTL_CONFIG", "_UNION_EAGER_API_KEY", "EAGER_API_KEY", "PRIVATE_OF_THE_SHELL", "KUBERNETES_SERVICE_HOST",
	} {
		require.NotContains(t, seen, name)
	}
	require.True(t, strings.HasPrefix(seen["PATH"], filepath.Join(environment, "bin")+":"))
	for _, name := range []string{"HOME", "TMPDIR", "PWD"} {
		require.True(t, strings.HasPrefix(seen[name], b.cfg.DataDir), "%s is %s", name, seen[name])
	}
}

// A container whose Secret does not exist waits, says so, and starts when it appears.
func TestWaitingForASecret(t *testing.T) {
	b := setup(t)
	pod := b.create(t, b.shell("exit 0", func(p *corev1.Pod) {
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "S", ValueFrom: secretKey()}}
	}))
	waiting := b.until(t, pod, "waiting", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Waiting != nil &&
			p.Status.ContainerStatuses[0].State.Waiting.Reason == "CreateContainerConfigError"
	})
	require.Equal(t, corev1.PodPending, waiting.Status.Phase)
	require.Contains(t, waiting.Status.ContainerStatuses[0].State.Waiting.Message, "hidden does not exist")
	require.Contains(t, b.event(t, pod, "Failed"), "hidden does not exist")
	b.objects(t)
	require.Equal(t, corev1.PodSucceeded, b.ended(t, pod).Status.Phase)
}

func withVolumes(mounts map[string]corev1.VolumeSource) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for path, source := range mounts {
			name := "v" + strings.ReplaceAll(strings.ToLower(filepath.Base(path)), ".", "-")
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
			p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
		}
	}
}

func sources(root string) map[string]corev1.VolumeSource {
	return map[string]corev1.VolumeSource{
		root + "/scratch": {EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}},
		root + "/config":  {ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}},
		root + "/secrets": {Secret: &corev1.SecretVolumeSource{SecretName: "hidden"}},
	}
}

// Volumes appear at their mount paths, which the script reads from a file so that nothing can be rewritten, and leave
// nothing on the machine.
func TestVolumesAtTheirPaths(t *testing.T) {
	for name, portable := range map[string]bool{"by namespace": false, "by link": true} {
		t.Run(name, func(t *testing.T) {
			if !portable && os.Geteuid() != 0 {
				t.Skip("mount namespaces need root")
			}
			b := setup(t, func(c *nodeConfig) { c.PortableMounts = portable })
			b.objects(t)
			root := t.TempDir()
			hidden := filepath.Join(t.TempDir(), "root")
			require.NoError(t, os.WriteFile(hidden, []byte(root+"/etc/flyte"), 0o600))
			pod := b.run(t, b.shell("r=$(cat "+hidden+"); echo x >$r/scratch/x && cat $r/config/colour $r/secrets/key $r/scratch/x",
				withVolumes(sources(root+"/etc/flyte"))))
			require.Equal(t, corev1.PodSucceeded, pod.Status.Phase)
			require.Equal(t, "redvaluex\n", b.logs(t, pod, &corev1.PodLogOptions{}))
			entries, err := os.ReadDir(root)
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}

// Two pods at a time use the same path, each with its own contents.
func TestVolumesDoNotMix(t *testing.T) {
	for name, portable := range map[string]bool{"by namespace": false, "portable": true} {
		t.Run(name, func(t *testing.T) {
			if !portable && os.Geteuid() != 0 {
				t.Skip("mount namespaces need root")
			}
			b := setup(t, func(c *nodeConfig) { c.PortableMounts = portable })
			root, sync := t.TempDir(), t.TempDir()
			var pods []*corev1.Pod
			for _, me := range []string{"a", "b"} {
				script := "echo " + me + " >" + root + "/data/me; echo 1 >" + sync + "/" + me +
					"; while [ ! -e " + sync + "/a -o ! -e " + sync + "/b ]; do sleep 0.01; done; cat " + root + "/data/me"
				pods = append(pods, b.create(t, b.shell(script, withVolumes(map[string]corev1.VolumeSource{
					root + "/data": {EmptyDir: &corev1.EmptyDirVolumeSource{}},
				}))))
			}
			for i, me := range []string{"a", "b"} {
				require.Equal(t, corev1.PodSucceeded, b.ended(t, pods[i]).Status.Phase)
				require.Equal(t, me+"\n", b.logs(t, pods[i], &corev1.PodLogOptions{}))
			}
		})
	}
}

func TestAVolumeThatCannotBeMountedIsExplained(t *testing.T) {
	b := setup(t, func(c *nodeConfig) { c.PortableMounts = true })
	taken := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(taken, "mine"), nil, 0o600))
	b.objects(t)
	volume := withVolumes(map[string]corev1.VolumeSource{taken: sources("")["/secrets"]})

	rewritten := b.run(t, b.shell("cat "+taken+"/key", volume))
	require.Equal(t, "value\n", b.logs(t, rewritten, &corev1.PodLogOptions{}), "the path is replaced where it is named")

	pod := b.run(t, b.shell("true", volume))
	require.Equal(t, "StartError", terminated(pod).Reason)
	require.Contains(t, terminated(pod).Message, taken)
	require.Contains(t, terminated(pod).Message, "exists on this machine")
	require.FileExists(t, filepath.Join(taken, "mine"))

	claim := b.run(t, b.shell("true", withVolumes(map[string]corev1.VolumeSource{
		"/claim": {PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}},
	})))
	require.Contains(t, terminated(claim).Message, "not supported by the local node")
}

// An init container hands files to the container through a volume, an executable among them.
func TestVolumesAreShared(t *testing.T) {
	b := setup(t)
	root := t.TempDir()
	pod := b.run(t, b.shell("", withVolumes(map[string]corev1.VolumeSource{root + "/tools": {EmptyDir: &corev1.EmptyDirVolumeSource{}}}), func(p *corev1.Pod) {
		init := p.Spec.Containers[0]
		init.Name = "install"
		init.Command = []string{"sh", "-c", "printf '#!/bin/sh\\necho made it\\n' >" + root + "/tools/run; chmod +x " + root + "/tools/run"}
		p.Spec.InitContainers = []corev1.Container{init}
		p.Spec.Containers[0].Command = []string{root + "/tools/run"}
	}))
	require.Equal(t, corev1.PodSucceeded, pod.Status.Phase, "%+v", pod.Status)
	require.Equal(t, "made it\n", b.logs(t, pod, &corev1.PodLogOptions{}))
}

func TestWorkingDirectoryOutlivesThePod(t *testing.T) {
	b := setup(t)
	pod := b.run(t, b.shell("echo result >result.txt; echo temp >$TMPDIR/temp.txt; pwd; echo $TMPDIR", func(p *corev1.Pod) {
		p.Labels = map[string]string{
			"flyte.org/project": "pr", "flyte.org/domain": "do", "flyte.org/run": "ru", "flyte.org/action": "a0",
		}
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "FLYTE_ATTEMPT_NUMBER", Value: "1"}}
	}))
	dirs := strings.Fields(b.logs(t, pod, &corev1.PodLogOptions{}))
	require.True(t, strings.HasPrefix(dirs[0], filepath.Join(b.cfg.DataDir, "work/pr/do/ru/a0/2")+"/"), dirs[0])
	b.delete(t, pod, 0)
	b.goneFromAPI(t, pod)
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(b.cfg.DataDir, "pods", string(uidOf(pod))))
		return os.IsNotExist(err)
	}, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, "result", content(t, dirs[0]+"/result.txt"))
	require.NoDirExists(t, dirs[1], "temporary files end with the attempt")

	require.NoError(t, b.node.RemoveRun("pr", "do", "other"))
	require.FileExists(t, dirs[0]+"/result.txt")
	require.NoError(t, b.node.RemoveRun("pr", "do", "ru"))
	require.NoDirExists(t, dirs[0])
	require.Error(t, b.node.RemoveRun("pr", "do", ""))
}

func TestEachAttemptHasAFreshDirectory(t *testing.T) {
	b := setup(t)
	for range 2 {
		pod := b.run(t, b.shell("[ -z \"$(ls -A)\" ] && touch here", func(p *corev1.Pod) {
			p.Labels = map[string]string{"flyte.org/run": "ru", "flyte.org/action": "a0"}
		}))
		require.Equal(t, corev1.PodSucceeded, pod.Status.Phase)
	}
}

// unpacks is an archive of code as clients ship it, unpacked into the working directory of a task as the SDK does.
const unpacks = `printf 'code' >m.py; mkdir pkg; printf 'more' >pkg/n.py; touch -d @0 m.py pkg/n.py; tar -czf fast1.tar.gz m.py pkg/n.py
touch .fast1.tar.gz.lock .fast1.tar.gz.extracted; mkdir __pycache__; touch __pycache__/m.pyc; echo home >$HOME/h; echo temp >$TMPDIR/t; `

func TestFilesOfAnEndedAttemptAreFreed(t *testing.T) {
	b := setup(t)
	of := func(action string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Labels = map[string]string{"flyte.org/project": "pr", "flyte.org/domain": "do", "flyte.org/run": "ru", "flyte.org/action": action}
		}
	}
	plain := b.run(t, b.shell(unpacks+"echo $TMPDIR", of("plain")))
	results := b.run(t, b.shell(unpacks+"echo changed >>m.py; echo result >result.txt; pwd", of("results")))
	temp := strings.TrimSpace(b.logs(t, plain, &corev1.PodLogOptions{}))
	work := strings.TrimSpace(b.logs(t, results, &corev1.PodLogOptions{}))
	require.FileExists(t, temp+"/t", "the pod is still there")
	for _, pod := range []*corev1.Pod{plain, results} {
		b.delete(t, pod, 0)
		b.goneFromAPI(t, pod)
		require.Eventually(t, func() bool {
			_, err := os.Stat(filepath.Join(b.cfg.DataDir, "pods", string(uidOf(pod))))
			return os.IsNotExist(err)
		}, 30*time.Second, 5*time.Millisecond)
	}
	left, err := os.ReadDir(filepath.Join(b.cfg.DataDir, "tmp"))
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoDirExists(t, filepath.Join(b.cfg.DataDir, "work/pr/do/ru/plain"), "it has no results")
	require.NoDirExists(t, filepath.Join(filepath.Dir(work), "home"))
	names := []string{}
	entries, err := os.ReadDir(work)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	require.Equal(t, []string{"m.py", "result.txt"}, names, "what the task has written or changed")
}

// A node that was killed after the pod had left the API frees its files at the next start.
func TestFilesOfAnAttemptAreFreedAfterACrash(t *testing.T) {
	b := setup(t)
	pod := b.run(t, b.shell(unpacks+"pwd", func(p *corev1.Pod) {
		p.Labels = map[string]string{"flyte.org/run": "ru", "flyte.org/action": "a0"}
	}))
	work := strings.TrimSpace(b.logs(t, pod, &corev1.PodLogOptions{}))
	require.FileExists(t, work+"/m.py")
	b.crash(t)
	b.delete(t, pod, 0)
	b.start(t)
	require.Eventually(t, func() bool {
		left, err := os.ReadDir(filepath.Join(b.cfg.DataDir, "tmp"))
		_, gone := os.Stat(work)
		return err == nil && len(left) == 0 && os.IsNotExist(gone)
	}, 30*time.Second, 10*time.Millisecond)
}
