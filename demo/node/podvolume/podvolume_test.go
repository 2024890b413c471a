package podvolume_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/demo/node/podenv"
	"github.com/flyte-binary/flyte-binary/demo/node/podvolume"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

type fake struct{}

func (fake) ConfigMap(_ context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	if name == "cm" {
		return &corev1.ConfigMap{Data: map[string]string{"a": "1", "b": "2"}}, nil
	}
	return nil, &podenv.MissingError{Kind: "ConfigMap", Namespace: namespace, Name: name}
}

func (fake) Secret(_ context.Context, namespace, name string) (*corev1.Secret, error) {
	if name == "s" {
		return &corev1.Secret{Data: map[string][]byte{"key": {0, 1}}}, nil
	}
	return nil, &podenv.MissingError{Kind: "Secret", Namespace: namespace, Name: name}
}

func (fake) Token(_ context.Context, pod *corev1.Pod, audience string, _ int64) (string, error) {
	return pod.Name + "@" + audience, nil
}

func ptr[T any](v T) *T { return &v }

func local(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }

func podWith(volumes ...corev1.Volume) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u", Labels: map[string]string{"x": "y"}},
		Spec:       corev1.PodSpec{Volumes: volumes},
	}
}

// tree reads a directory as path -> "mode content".
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		found[rel] = info.Mode().Perm().String() + " " + string(raw)
		return err
	}))
	return found
}

func TestMake(t *testing.T) {
	memory := t.TempDir()
	maker := podvolume.Maker{Source: fake{}, Tokens: fake{}, Node: podenv.Node{Name: "n"}, MemoryDir: memory}
	pod := podWith(
		corev1.Volume{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		corev1.Volume{Name: "memory", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
		corev1.Volume{Name: "all", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: local("cm")}}},
		corev1.Volume{Name: "some", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: local("cm"), Items: []corev1.KeyToPath{{Key: "b", Path: "deep/er/b.txt", Mode: ptr(int32(0o400))}},
		}}},
		corev1.Volume{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s", DefaultMode: ptr(int32(0o600))}}},
		corev1.Volume{Name: "absent", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "none", Optional: ptr(true)}}},
		corev1.Volume{Name: "down", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
		}}}},
		corev1.Volume{Name: "many", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: local("cm"), Items: []corev1.KeyToPath{{Key: "a", Path: "a"}}}},
			{Secret: &corev1.SecretProjection{LocalObjectReference: local("s")}},
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "me", Path: "token"}},
		}}}},
		corev1.Volume{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: memory}}},
	)
	dir := t.TempDir()
	for range 2 { // it may be repeated
		paths, err := maker.Make(t.Context(), pod, dir)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(memory, "flyte-u-memory"), paths["memory"])
		require.Equal(t, memory, paths["host"])
		require.DirExists(t, paths["empty"])
		require.DirExists(t, paths["absent"])
	}
	require.Equal(t, map[string]string{
		"all/a": "-rw-r--r-- 1", "all/b": "-rw-r--r-- 2", "some/deep/er/b.txt": "-r-------- 2", "down/labels": "-rw-r--r-- x=\"y\"",
	}, tree(t, dir))
	require.Equal(t, map[string]string{
		"flyte-u-secret/files/key": "-rw------- \x00\x01",
		"flyte-u-many/files/a":     "-rw-r--r-- 1", "flyte-u-many/files/key": "-rw-r--r-- \x00\x01", "flyte-u-many/files/token": "-rw------- p@me",
	}, tree(t, memory), "secrets are in memory only")
	info, err := os.Stat(filepath.Join(memory, "flyte-u-secret"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "and for nobody else on the machine")
	require.NoError(t, maker.RemoveAll("another"))
	require.DirExists(t, filepath.Join(memory, "flyte-u-memory"))
	require.NoError(t, maker.Remove(pod))
	require.Empty(t, tree(t, memory))
	require.NoDirExists(t, filepath.Join(memory, "flyte-u-memory"))
	require.NoDirExists(t, filepath.Join(memory, "flyte-u-secret"))
	_, err = maker.Make(t.Context(), pod, dir)
	require.NoError(t, err)
	require.NoError(t, maker.RemoveAll(pod.UID))
	require.NoDirExists(t, filepath.Join(memory, "flyte-u-memory"))
}

func TestVolumesThatCannotBeMade(t *testing.T) {
	maker := podvolume.Maker{Source: fake{}}
	token := corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
	}}}
	t.Run("missing object", func(t *testing.T) {
		_, err := maker.Make(t.Context(), podWith(corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "none"}}}), t.TempDir())
		require.True(t, podenv.IsMissing(err))
		require.EqualError(t, err, "volume v: Secret ns/none does not exist")
	})
	t.Run("missing key", func(t *testing.T) {
		_, err := maker.Make(t.Context(), podWith(corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: local("cm"), Items: []corev1.KeyToPath{{Key: "zzz", Path: "x"}},
		}}}), t.TempDir())
		require.True(t, podenv.IsMissing(err))
	})
	t.Run("unsupported kind", func(t *testing.T) {
		_, err := maker.Make(t.Context(), podWith(corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}}), t.TempDir())
		require.ErrorIs(t, err, podvolume.ErrUnsupported)
		require.False(t, podenv.IsMissing(err))
	})
	t.Run("a token that was asked for", func(t *testing.T) {
		_, err := maker.Make(t.Context(), podWith(corev1.Volume{Name: "v", VolumeSource: token}), t.TempDir())
		require.ErrorIs(t, err, podvolume.ErrUnsupported)
	})
	t.Run("a token that nobody asked for", func(t *testing.T) {
		paths, err := maker.Make(t.Context(), podWith(corev1.Volume{Name: "kube-api-access-x", VolumeSource: token}), t.TempDir())
		require.NoError(t, err)
		require.Empty(t, paths)
	})
	t.Run("a file that would leave the volume", func(t *testing.T) {
		dir := t.TempDir()
		_, err := maker.Make(t.Context(), podWith(corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: local("cm"), Items: []corev1.KeyToPath{{Key: "a", Path: "../../x"}},
		}}}), filepath.Join(dir, "volumes"))
		require.Error(t, err)
		require.Empty(t, tree(t, dir))
	})
}

func TestRewrite(t *testing.T) {
	r := podvolume.Rewrite{From: "/data", To: "/v"}
	for text, want := range map[string]string{
		"/data":                "/v",
		"/data/x":              "/v/x",
		"--in=/data/x:/data":   "--in=/v/x:/v",
		"/data2 /x/data /data": "/data2 /x/data /v",
		"/data/data":           "/v/data",
		"my/data":              "my/data",
		"":                     "",
	} {
		require.Equal(t, want, r.Apply(text), text)
	}
}

func mounter(t *testing.T, namespaces bool) (*podvolume.Mounter, string) {
	t.Helper()
	ledger := filepath.Join(t.TempDir(), "mounts.json")
	m, err := podvolume.NewMounter(ledger, register(t), namespaces)
	require.NoError(t, err)
	return m, ledger
}

func TestLinks(t *testing.T) {
	m, ledger := mounter(t, false)
	machine, one, two := t.TempDir(), t.TempDir(), t.TempDir()
	target := filepath.Join(machine, "etc/flyte/secrets")

	first, err := m.Plan([]podvolume.Mount{{Source: one, Target: target}})
	require.NoError(t, err)
	require.Empty(t, first.Rewrites)
	to, err := os.Readlink(target)
	require.NoError(t, err)
	require.Equal(t, one, to)

	same, err := m.Plan([]podvolume.Mount{{Source: one, Target: target}})
	require.NoError(t, err)
	require.Empty(t, same.Rewrites)

	other, err := m.Plan([]podvolume.Mount{{Source: two, Target: target}})
	require.NoError(t, err)
	require.Equal(t, []podvolume.Rewrite{{From: target, To: two}}, other.Rewrites, "the path belongs to another pod")
	require.ErrorContains(t, other.Unseen[0].Why, "in use by another pod")

	first.Release()
	first.Release()
	require.FileExists(t, ledger)
	_, err = os.Readlink(target)
	require.NoError(t, err, "one user is left")
	other.Release()
	same.Release()
	require.NoDirExists(t, filepath.Join(machine, "etc"), "what was made is gone")
	require.NoFileExists(t, ledger)
}

func TestLinksOverARestart(t *testing.T) {
	m, ledger := mounter(t, false)
	machine, one, two := t.TempDir(), t.TempDir(), t.TempDir()
	target := filepath.Join(machine, "data")
	_, err := m.Plan([]podvolume.Mount{{Source: one, Target: target}})
	require.NoError(t, err)

	held, err := podvolume.NewMounter(ledger, register(t), false)
	require.NoError(t, err)
	hold := held.Hold([]string{target, "/not/ours"})
	require.NoError(t, held.Sweep())
	_, err = os.Readlink(target)
	require.NoError(t, err)
	plan, err := held.Plan([]podvolume.Mount{{Source: two, Target: target}})
	require.NoError(t, err)
	require.Len(t, plan.Unseen, 1)
	hold.Release()
	require.NoFileExists(t, target)
}

func TestNothingOfTheMachineIsTouched(t *testing.T) {
	m, _ := mounter(t, false)
	machine, volume := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(machine, "mine"), []byte("x"), 0o600))

	plan, err := m.Plan([]podvolume.Mount{{Source: volume, Target: machine}})
	require.NoError(t, err)
	require.ErrorContains(t, plan.Unseen[0].Why, "exists on this machine")
	plan.Release()
	require.FileExists(t, filepath.Join(machine, "mine"))

	scratch, err := m.Plan([]podvolume.Mount{{Source: volume, Target: machine, Scratch: true}})
	require.NoError(t, err)
	require.Empty(t, scratch.Unseen, "any empty directory will do")

	_, err = m.Plan([]podvolume.Mount{{Source: volume, Target: "relative"}})
	require.ErrorContains(t, err, "not an absolute path")
}

func TestBinds(t *testing.T) {
	m, _ := mounter(t, true)
	machine, outer, inner := t.TempDir(), t.TempDir(), t.TempDir()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	target := filepath.Join(machine, "a/b")
	plan, err := m.Plan([]podvolume.Mount{
		{Source: inner, Target: target + "/inner"},
		{Source: outer, Target: target, ReadOnly: true},
		{Source: file, Target: filepath.Join(machine, "conf")},
	}, machine)
	require.NoError(t, err)
	require.Equal(t, []shim.Mount{
		{Source: outer, Target: target, ReadOnly: true}, {Source: inner, Target: target + "/inner"},
		{Source: file, Target: filepath.Join(machine, "conf")},
	}, plan.Binds)
	require.DirExists(t, filepath.Join(outer, "inner"))
	require.NoDirExists(t, filepath.Join(target, "inner"))
	require.FileExists(t, filepath.Join(machine, "conf"))

	_, err = m.Plan([]podvolume.Mount{{Source: outer, Target: machine}}, filepath.Join(machine, "a"))
	require.ErrorContains(t, err, "would hide")
	plan.Release()
	entries, err := os.ReadDir(machine)
	require.NoError(t, err)
	require.Empty(t, entries)
}
