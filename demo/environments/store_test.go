package environments_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/environments"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// die makes this test binary a maker that is killed in the middle of a build, in the directory that the variable names.
const die = "ENVIRONMENTS_TEST_DIE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(die); dir != "" {
		_, _, _ = environments.New(dir, clock.System{}).Make(context.Background(), tag, environments.Wanted{}, nil,
			func(_ context.Context, env environments.Environment) (environments.Record, error) {
				_ = os.WriteFile(filepath.Join(env.Venv, "half"), nil, 0o600)
				_, _ = fmt.Fprintln(os.Stdout, "in the middle")
				select {} // until it is killed
			})
	}
	os.Exit(m.Run())
}

const tag = "0123456789abcdef0123456789abcdef"

// fill makes what a task needs.
func fill(env environments.Environment) error {
	bin := filepath.Join(env.Venv, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"python", environments.Entry} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			return err
		}
	}
	return nil
}

func build(_ context.Context, env environments.Environment) (environments.Record, error) {
	return environments.Record{Image: "image:" + env.Tag, Run: "r"}, fill(env)
}

func list(t *testing.T, dir ...string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir...))
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestOfManyMakersOneMakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var builds, waited, made atomic.Int32
	var all sync.WaitGroup
	release := make(chan struct{})
	for range 100 {
		all.Go(func() {
			store := environments.New(dir, clock.System{}) // as a process of its own
			env, fresh, err := store.Make(t.Context(), tag, environments.Wanted{}, func() {
				if waited.Add(1) == 99 {
					close(release)
				}
			}, func(ctx context.Context, env environments.Environment) (environments.Record, error) {
				builds.Add(1)
				<-release
				return build(ctx, env)
			})
			if err == nil && env.Run == "r" && fresh {
				made.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, builds.Load())
	require.EqualValues(t, 1, made.Load())
	require.Len(t, list(t, dir, "made"), 1)
}

func TestABuildThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := environments.New(dir, clock.System{})
	_, _, err := store.Make(t.Context(), tag, environments.Wanted{}, nil, func(_ context.Context, env environments.Environment) (environments.Record, error) {
		return environments.Record{}, errors.Join(fill(env), errors.New("no space left on device"))
	})
	require.ErrorContains(t, err, "no space left")
	_, _, err = store.Make(t.Context(), tag, environments.Wanted{}, nil, func(context.Context, environments.Environment) (environments.Record, error) {
		return environments.Record{}, nil // an installer that lies
	})
	require.ErrorContains(t, err, "bin/python")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tags", tag+".json.next"), 0o700)) // the record cannot be written
	_, _, err = store.Make(t.Context(), tag, environments.Wanted{}, nil, build)
	require.ErrorContains(t, err, "write the record")
	require.Empty(t, list(t, dir, "made"))
	require.Empty(t, list(t, dir, "tags"))
	found, err := store.Find(tag)
	require.NoError(t, err)
	require.Nil(t, found)
	_, _, err = store.Make(t.Context(), "../../../etc", environments.Wanted{}, nil, build)
	require.ErrorContains(t, err, "not a digest")
}

// Not parallel: a process that is just being started has the locks of others for a moment.
func TestAMakerThatIsKilledIsReplaced(t *testing.T) {
	dir := t.TempDir()
	store := environments.New(dir, clock.System{})
	maker := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	maker.Env = append(os.Environ(), die+"="+dir)
	out, err := maker.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, maker.Start())
	line := make([]byte, len("in the middle"))
	_, err = out.Read(line)
	require.NoError(t, err)
	require.Equal(t, "in the middle", string(line))

	require.Len(t, list(t, dir, "made"), 1)
	_, err = store.Collect(environments.Limit{Keep: 1}, unused)
	require.NoError(t, err)
	require.Len(t, list(t, dir, "made"), 1, "the lock is held")
	found, err := store.Find(tag)
	require.NoError(t, err)
	require.Nil(t, found, "nothing is there before it is complete")

	require.NoError(t, maker.Process.Kill())
	require.Error(t, maker.Wait())
	_, made, err := store.Make(t.Context(), tag, environments.Wanted{}, nil, build)
	require.NoError(t, err)
	require.True(t, made)
	require.Len(t, list(t, dir, "made"), 2)
	_, err = store.Collect(environments.Limit{Keep: 1}, unused)
	require.NoError(t, err)
	require.Len(t, list(t, dir, "made"), 1, "what the dead maker left is gone")
	found, err = store.Sound(tag)
	require.NoError(t, err)
	require.NotNil(t, found)
}

func unused(string) bool { return false }

func TestABrokenEnvironmentIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, env *environments.Environment){
		"no interpreter": func(t *testing.T, env *environments.Environment) {
			require.NoError(t, os.Remove(filepath.Join(env.Venv, "bin", "python")))
		},
		"an interpreter of this machine that is gone": func(t *testing.T, env *environments.Environment) {
			python := filepath.Join(env.Venv, "bin", "python")
			require.NoError(t, errors.Join(os.Remove(python), os.Symlink("/nonexistent/python", python)))
		},
		"a truncated file": func(t *testing.T, env *environments.Environment) {
			require.NoError(t, os.Truncate(filepath.Join(env.Venv, "module.py"), 1))
		},
		"a file that is gone": func(t *testing.T, env *environments.Environment) {
			require.NoError(t, os.Remove(filepath.Join(env.Venv, "module.py")))
		},
		"a truncated list": func(t *testing.T, env *environments.Environment) {
			require.NoError(t, os.Truncate(filepath.Join(env.Venv, "..", "manifest"), 3))
		},
		"a directory that is gone": func(t *testing.T, env *environments.Environment) {
			require.NoError(t, os.RemoveAll(filepath.Dir(env.Venv)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := environments.New(t.TempDir(), clock.System{})
			again := func() (*environments.Environment, bool) {
				env, made, err := store.Make(t.Context(), tag, environments.Wanted{}, nil, func(ctx context.Context, env environments.Environment) (environments.Record, error) {
					record, err := build(ctx, env)
					return record, errors.Join(err, os.WriteFile(filepath.Join(env.Venv, "module.py"), []byte("x = 1\n"), 0o600))
				})
				require.NoError(t, err)
				return env, made
			}
			first, made := again()
			require.True(t, made)
			require.NoError(t, os.MkdirAll(filepath.Join(first.Venv, "__pycache__"), 0o755)) // tasks write there
			_, made = again()
			require.False(t, made)
			damage(t, first)
			sound, err := store.Sound(tag)
			require.NoError(t, err)
			require.Nil(t, sound)
			second, made := again()
			require.True(t, made)
			require.NotEqual(t, first.Venv, second.Venv, "tasks may still run in the first")
			sound, err = store.Sound(tag)
			require.NoError(t, err)
			require.Equal(t, second, sound)
		})
	}
}

func TestTheLeastRecentlyUsedGo(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(time.Now())
	dir := t.TempDir()
	store := environments.New(dir, clk)
	tags := make([]string, 5)
	for i := range tags {
		tags[i] = strings.Repeat(fmt.Sprint(i), 32)
		_, _, err := store.Make(t.Context(), tags[i], environments.Wanted{}, nil, build)
		require.NoError(t, err)
	}
	for _, i := range []int{3, 0, 4, 1, 2} { // from the least to the most recently used
		clk.Step(time.Minute)
		_, err := store.Find(tags[i])
		require.NoError(t, err)
	}
	limit := environments.Limit{Keep: 2, MinIdle: 10 * time.Minute}
	removed, err := store.Collect(limit, unused)
	require.NoError(t, err)
	require.Empty(t, removed, "all were used a moment ago")
	clk.Step(time.Hour)
	removed, err = store.Collect(limit, func(tag string) bool { return tag == tags[0] })
	require.NoError(t, err)
	require.ElementsMatch(t, []string{tags[3], tags[4]}, removed)
	require.Len(t, list(t, dir, "made"), 3)
	for i, there := range []bool{true, true, true, false, false} {
		found, err := store.Find(tags[i])
		require.NoError(t, err)
		require.Equal(t, there, found != nil, i)
	}
}

func TestARecordThatIsDamagedCountsAsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := environments.New(dir, clock.System{})
	_, _, err := store.Make(t.Context(), tag, environments.Wanted{}, nil, build)
	require.NoError(t, err)
	for _, content := range []string{"", "{", `{"dir": "../../etc"}`, `{"dir": ".."}`, `{}`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "tags", tag+".json"), []byte(content), 0o600))
		found, err := store.Find(tag)
		require.NoError(t, err, content)
		require.Nil(t, found, content)
	}
	_, made, err := store.Make(t.Context(), tag, environments.Wanted{}, nil, build)
	require.NoError(t, err)
	require.True(t, made)
}

func TestVariablesAreThoseOfTheImageOnThisMachine(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(files, "root", "src"), 0o755))
	env := environments.Environment{Files: files, Record: environments.Record{Env: []environments.Variable{
		{Name: "A", Value: "1"}, {Name: "B", Value: "$A-${HOME}-$NONE"}, {Name: "PATH", Value: "/opt/venv/bin:/tools:$PATH"},
		{Name: "PYTHONPATH", Value: "/root/src:/elsewhere"},
	}}}
	got := env.Variables(func(name string) string { return map[string]string{"HOME": "/me", "PATH": "/bin"}[name] })
	require.Equal(t, []environments.Variable{
		{Name: "A", Value: "1"}, {Name: "B", Value: "1-/me-"}, {Name: "PATH", Value: "/tools:/bin"},
		{Name: "PYTHONPATH", Value: filepath.Join(files, "root", "src")},
	}, got)
}

func TestFilesAreCopiedOnce(t *testing.T) {
	t.Parallel()
	files, work := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(files, "root", "src"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(files, "root", "src", "a.py"), []byte("a"), 0o600))
	env := environments.Environment{Files: files, Record: environments.Record{WorkDir: "root"}}
	require.NoError(t, env.CopyInto(work))
	copied := filepath.Join(work, "src", "a.py")
	require.NoError(t, os.WriteFile(copied, []byte("changed by the task"), 0o600))
	require.NoError(t, env.CopyInto(work), "a container that is started again keeps its files")
	body, err := os.ReadFile(copied)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(body, []byte("changed")))
	body, err = os.ReadFile(filepath.Join(files, "root", "src", "a.py"))
	require.NoError(t, err)
	require.Equal(t, "a", string(body), "the image's own file stays")
}
