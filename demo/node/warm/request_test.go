package warm

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	good := func() Request {
		return Request{Path: "/env/bin/a0", Home: "/pod/home", Env: []string{"HOME=/pod/home", "PATH=/env/bin", "PYTHONPATH=/lib/one"}}
	}
	for name, test := range map[string]struct {
		change func(*Request)
		want   Reason
	}{
		"the SDK's entry point":       {func(*Request) {}, None},
		"another program":             {func(r *Request) { r.Path = "/env/bin/python" }, Command},
		"a name that only ends in a0": {func(r *Request) { r.Path = "/env/bin/c-a0" }, Command},
		"a relative path":             {func(r *Request) { r.Path = "a0" }, Command},
		"another user":                {func(r *Request) { r.Restricted = true }, Rights},
		"mounts":                      {func(r *Request) { r.Mounted = true }, Mounts},
		"a home of its own choice":    {func(r *Request) { r.Env[0] = "HOME=/root" }, Variables},
		"no home":                     {func(r *Request) { r.Env = r.Env[1:] }, Variables},
		"a fixed hash seed":           {func(r *Request) { r.Env = append(r.Env, "PYTHONHASHSEED=0") }, Variables},
		"a preloaded library":         {func(r *Request) { r.Env = append(r.Env, "LD_PRELOAD=/lib/x.so") }, Variables},
		"an empty one that is never":  {func(r *Request) { r.Env = append(r.Env, "LD_AUDIT=") }, Variables},
		"modules below the work dir":  {func(r *Request) { r.Env[2] = "PYTHONPATH=src" }, Variables},
		"an empty part of PYTHONPATH": {func(r *Request) { r.Env[2] = "PYTHONPATH=/lib/one:" }, Variables},
		"its own variables":           {func(r *Request) { r.Env = append(r.Env, "RUN_NAME=r", "SECRET=s") }, None},
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			test.change(&r)
			require.Equal(t, test.want, judge(r))
		})
	}
}

func TestVariablesThatCountAndNoOthersReachAParent(t *testing.T) {
	env := []string{"SECRET=s", "RUN_NAME=r", "PYTHONUNBUFFERED=1", "OMP_NUM_THREADS=2", "LOG_LEVEL=info", "LOG_LEVELS=x", "HOME=/h", "TZ=UTC"}
	require.Equal(t, []string{"LOG_LEVEL=info", "OMP_NUM_THREADS=2", "PYTHONUNBUFFERED=1", "TZ=UTC"}, variables(env))
}

func TestVariablesThatAnImportHasRead(t *testing.T) {
	parent := []string{"LOG_LEVEL=info"}
	require.False(t, differs([]string{"LOG_LEVEL", "MODE", "HOME"}, parent, []string{"LOG_LEVEL=info", "HOME=/h", "OTHER=1"}))
	require.True(t, differs([]string{"LOG_LEVEL", "MODE"}, parent, []string{"LOG_LEVEL=info", "MODE=fast"}))
}

// TestAParentSeesNoGPU: tasks with GPUs of their own are forked from one parent, which sees none.
func TestAParentSeesNoGPU(t *testing.T) {
	want := []string{"CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES="}
	require.Equal(t, want, variables([]string{"CUDA_VISIBLE_DEVICES=GPU-a", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "OTHER=1"}))
	require.Equal(t, want, variables([]string{"CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}))
	require.True(t, differs([]string{"CUDA_VISIBLE_DEVICES"}, want, []string{"CUDA_VISIBLE_DEVICES=GPU-a"}), "an import has read it")
}

func TestFingerprint(t *testing.T) {
	dir := t.TempDir()
	file, missing := filepath.Join(dir, "module.py"), filepath.Join(dir, "missing", "x.py")
	require.NoError(t, os.WriteFile(file, []byte("1"), 0o600))
	f := fingerprintOf([]string{dir, file, missing})
	require.Empty(t, f.changed())

	require.NoError(t, os.Mkdir(filepath.Join(dir, "__pycache__"), 0o700))
	require.Empty(t, f.changed(), "what an import writes is not a change")

	require.NoError(t, os.Mkdir(filepath.Join(dir, "new-1.dist-info"), 0o700))
	require.Equal(t, dir, f.changed(), "a package is installed")

	f = fingerprintOf([]string{file})
	later := time.Now().Add(time.Minute)
	require.NoError(t, os.Chtimes(file, later, later))
	require.Equal(t, file, f.changed(), "a module is edited")

	f = fingerprintOf([]string{missing})
	require.NoError(t, os.Mkdir(filepath.Dir(missing), 0o700))
	require.NoError(t, os.WriteFile(missing, nil, 0o600))
	require.Equal(t, missing, f.changed(), "a missing file appears")
}
