package node_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/demo/environments"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestAnImageThatWasBuiltIsItsEnvironment(t *testing.T) {
	store := environments.New(t.TempDir(), clock.System{})
	tag := strings.Repeat("a", 32)
	env, _, err := store.Make(t.Context(), tag, environments.Wanted{}, nil, func(_ context.Context, env environments.Environment) (environments.Record, error) {
		for name, content := range map[string]string{
			filepath.Join(env.Venv, "bin", "python"): "#!/bin/sh\n", filepath.Join(env.Venv, "bin", "a0"): "#!/bin/sh\n",
			filepath.Join(env.Files, "root", "data", "file"): "of the image",
		} {
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
			require.NoError(t, os.WriteFile(name, []byte(content), 0o755))
		}
		return environments.Record{Image: "image:" + tag, WorkDir: "root", Env: []environments.Variable{
			{Name: "GREETING", Value: "hello"}, {Name: "BOTH", Value: "image"},
		}}, nil
	})
	require.NoError(t, err)
	fallback := t.TempDir()
	b := setup(t, func(c *nodeConfig) { c.Made, c.Environment = store, fallback })
	script := `echo "$GREETING $BOTH $VIRTUAL_ENV $(which a0) $(cat data/file) $PYTHONPATH" > /dev/termination-log; echo changed > data/file`
	start := func(image string) *corev1.Pod {
		return b.run(t, b.shell(script, func(p *corev1.Pod) {
			p.Spec.Containers[0].Image = image
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "BOTH", Value: "container"}}
		}))
	}
	for range 2 { // the second one has the image's files as they were
		end := start("registry.example/image:" + tag).Status.ContainerStatuses[0].State.Terminated
		require.Equal(t, "hello container "+env.Venv+" "+filepath.Join(env.Venv, "bin", "a0")+" of the image "+
			filepath.Join(env.Files, "root"), strings.TrimSpace(end.Message))
	}
	end := start("image:" + strings.Repeat("b", 32)).Status.ContainerStatuses[0].State.Terminated
	require.Contains(t, end.Message, fallback, "nobody has built that one")
	require.NoError(t, os.Remove(filepath.Join(env.Venv, "bin", "python")))
	end = start("image:" + tag).Status.ContainerStatuses[0].State.Terminated
	require.Equal(t, "StartError", end.Reason)
	require.Contains(t, end.Message, "is broken: bin/python is missing")
}

// Packages that do not fit together are said by the build, which few people read, so they are said to those who use the image.
func TestAnImageWhosePackagesDoNotFitTogetherWarnsItsUsers(t *testing.T) {
	store, tag := environments.New(t.TempDir(), clock.System{}), strings.Repeat("c", 32)
	const warning = "packages of this image do not fit together: a requires b>2, but 1 is installed"
	_, _, err := store.Make(t.Context(), tag, environments.Wanted{}, nil, func(_ context.Context, env environments.Environment) (environments.Record, error) {
		for _, name := range []string{"python", "a0"} {
			require.NoError(t, os.MkdirAll(filepath.Join(env.Venv, "bin"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(env.Venv, "bin", name), []byte("#!/bin/sh\n"), 0o755))
		}
		return environments.Record{Image: "image:" + tag, Warning: warning}, nil
	})
	require.NoError(t, err)
	b := setup(t, func(c *nodeConfig) { c.Made = store })
	pod := b.run(t, b.shell("echo done", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "image:" + tag }))
	require.Equal(t, corev1.PodSucceeded, pod.Status.Phase)
	log := b.logs(t, pod, &corev1.PodLogOptions{})
	require.True(t, strings.HasPrefix(log, "[local node] "+warning+"\n"), log)
	require.True(t, strings.HasSuffix(log, "\ndone\n"), log)
	require.Contains(t, b.event(t, pod, "ImageInconsistent"), warning)
}
