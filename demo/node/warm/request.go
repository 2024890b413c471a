package warm

import (
	"path/filepath"
	"slices"
	"strings"
)

// Request is a process that is to be started.
type Request struct {
	// Path is the executable and Env the whole environment, as NAME=value.
	Path string
	Env  []string
	// Home is the directory that the process has for itself alone, its HOME unless its author has chosen another.
	Home string
	// Restricted means that the process gets other rights than the node's, Mounted that it sees other files.
	Restricted, Mounted bool
}

// entryPoint is the name of the SDK's program for tasks.
const entryPoint = "a0"

// judge decides what a request alone can tell: None, if a parent may exist for it. It reads no file.
func judge(r Request) Reason {
	switch {
	case filepath.Base(r.Path) != entryPoint || !filepath.IsAbs(r.Path):
		return Command
	case r.Restricted:
		return Rights
	case r.Mounted:
		return Mounts
	case get(r.Env, "HOME") != r.Home:
		return Variables // what it holds may matter, such as packages and settings of the user
	case slices.ContainsFunc(never, func(name string) bool { return matchAny([]string{name}, r.Env) }):
		return Variables
	case slices.ContainsFunc(filepath.SplitList(get(r.Env, "PYTHONPATH")), func(dir string) bool { return !filepath.IsAbs(dir) }):
		return Variables // it depends on the working directory
	}
	return None
}

// Variables are read when the interpreter starts, when the dynamic loader does, or when modules are imported. Those of
// counted are given to the parent, and processes with other values get another parent. A trailing * matches any ending.
//
// The list is for what cannot be seen: variables that programs in C read, and those that Python code finds by a prefix.
// What Python code reads by name while it imports the SDK is recorded by the parent and compared as well.
var (
	counted = []string{ //nolint:gochecknoglobals // a table
		"PYTHON*", "_PYTHON_*", "VIRTUAL_ENV", // the interpreter
		"PATH",                           // what an import may look for
		"LANG", "LANGUAGE", "LC_*", "TZ", // the interpreter's encoding, the C library's time zone
		"LD_*", "MALLOC_*", "GLIBC_TUNABLES", // the dynamic loader and the allocator
		"OMP_*", "OPENBLAS_*", "MKL_*", "GOTO_*", "BLIS_*", "NUMEXPR_*", "KMP_*", "ARROW_*", "RAYON_*", "TOKIO_*", // pools of threads
		"CUDA_*", "NVIDIA_*", "ROCR_*", "HIP_*", // accelerators
		"LOG_LEVEL", "LOG_FORMAT", "USER_LOG_LEVEL", "DISABLE_RICH_LOGGING", "FLYTE_RESET_ROOT_LOGGER", // the SDK's logging
		"FSSPEC_*", "FLYTE_IO_*", // settings that modules of the SDK keep
		"FLYTE_DISABLE_SENTRY", "SENTRY_*", "OTEL_*", // telemetry
		"PROTOCOL_BUFFERS_*", "PYDANTIC_*", "MSGPACK_*", // which implementation a module has
		"OPENSSL_*", "SSL_*", "RUST_*", // libraries in C and Rust
		"COVERAGE_*", "COV_CORE_*", // tools that hook into the start of the interpreter
	}
	never = []string{ //nolint:gochecknoglobals // as above
		"PYTHONHASHSEED",                 // one that is set asks for reproducible runs, and the next one too
		"PYTHONINSPECT", "PYTHONSTARTUP", // what happens at the end of the script
		"PYTHONMALLOC", "PYTHONTRACEMALLOC", "PYTHONDUMPREFS*", // what is measured from the first instruction
		"PYTHONFAULTHANDLER", "PYTHONDEVMODE", "PYTHONPROFILEIMPORTTIME", "PYTHONPERFSUPPORT", "PYTHON_PERF_JIT_SUPPORT",
		"LD_PRELOAD", "LD_AUDIT", // code of someone else in the process
	}
)

// variables are those of an environment that count, sorted.
func variables(env []string) []string {
	var found []string
	for _, variable := range env {
		switch name, _, _ := strings.Cut(variable, "="); {
		case slices.Contains(seen, name):
			found = append(found, name+"=")
		case matchesOne(counted, name):
			found = append(found, variable)
		}
	}
	slices.Sort(found)
	return found
}

// seen are the variables that say which GPUs a process sees. A parent sees none, so that nothing that it imports touches one, and
// processes with any value are forked from it: libraries read them when they begin to use a device.
var seen = []string{"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"} //nolint:gochecknoglobals // a table

// varying are the names of the other variables of an environment, sorted.
func varying(env []string) []string {
	var found []string
	for _, variable := range env {
		if name, _, _ := strings.Cut(variable, "="); !matchesOne(counted, name) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// matchAny reports whether a variable of an environment matches a pattern.
func matchAny(patterns, env []string) bool {
	return slices.ContainsFunc(env, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return matchesOne(patterns, name)
	})
}

func matchesOne(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, star := strings.CutSuffix(pattern, "*")
		return pattern == name || (star && strings.HasPrefix(name, prefix))
	})
}

// get is the value of a variable, empty if there is none.
func get(env []string, name string) string {
	for _, variable := range slices.Backward(env) {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value
		}
	}
	return ""
}

// differs reports whether two environments differ in one of the names.
func differs(names, one, other []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name != "HOME" && get(one, name) != get(other, name)
	})
}
