package environments_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/environments"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func imageOf(project, name string) environments.Image {
	return environments.Image{Project: project, Domain: "d", Name: name}
}

// The first build does not decide what the tag means in another project.
func TestEachProjectHasItsOwnEnvironmentOfATag(t *testing.T) {
	t.Parallel()
	store := environments.New(t.TempDir(), clock.System{})
	key, ok := imageOf("attacker", "image:"+tag).Key()
	require.True(t, ok)
	_, _, err := store.Make(t.Context(), key, environments.Wanted{}, nil, build)
	require.NoError(t, err)
	found, err := store.FindImage(imageOf("attacker", "registry/image:"+tag))
	require.NoError(t, err)
	require.NotNil(t, found)
	for _, other := range []environments.Image{imageOf("victim", "image:"+tag), {Project: "attacker", Domain: "production", Name: "image:" + tag}} {
		found, err = store.FindImage(other)
		require.NoError(t, err)
		require.Nil(t, found)
	}
	_, ok = imageOf("p", "image:latest").Key()
	require.False(t, ok)
}

// Environments that an earlier version has made, by their tag alone, stay those of the project that made them.
func TestEnvironmentsOfEarlierVersionsAreFound(t *testing.T) {
	t.Parallel()
	store := environments.New(t.TempDir(), clock.System{})
	_, _, err := store.Make(t.Context(), tag, environments.Wanted{}, nil, func(_ context.Context, env environments.Environment) (environments.Record, error) {
		return environments.Record{Project: "p", Domain: "d"}, fill(env)
	})
	require.NoError(t, err)
	found, err := store.SoundImage(imageOf("p", "image:"+tag))
	require.NoError(t, err)
	require.NotNil(t, found)
	require.True(t, imageOf("p", "image:"+tag).Uses(found.Tag))
	found, err = store.SoundImage(imageOf("q", "image:"+tag))
	require.NoError(t, err)
	require.Nil(t, found)
}

// A tag does not say what an environment was made from; its own digest does.
func TestAnotherDescriptionIsAnotherEnvironment(t *testing.T) {
	t.Parallel()
	store := environments.New(t.TempDir(), clock.System{})
	of := func(description string) (string, bool) {
		env, made, err := store.Make(t.Context(), tag, environments.Wanted{Description: description}, nil, build)
		require.NoError(t, err)
		return env.Dir, made
	}
	first, made := of("one")
	require.True(t, made)
	again, made := of("one")
	require.False(t, made)
	require.Equal(t, first, again)
	other, made := of("two")
	require.True(t, made)
	require.NotEqual(t, first, other)
}

// Other users of the machine reach an environment by its name and nothing else: neither the locks, which would stop all builds, nor the
// list of environments.
func TestTheStoreIsClosedToOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, open := range []string{"cache", "made"} { // as earlier versions have left them
		require.NoError(t, os.Mkdir(filepath.Join(dir, open), 0o755))
	}
	_, _, err := environments.New(dir, clock.System{}).Make(t.Context(), tag, environments.Wanted{}, nil, build)
	require.NoError(t, err)
	for name, want := range map[string]os.FileMode{".": 0o711, "made": 0o711, "cache": 0o700, "locks": 0o700, "tags": 0o700} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), name)
	}
}
