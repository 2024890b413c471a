package cachelink

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// Specs reads encoded specs by digest; worklists.LiveReader does.
type Specs interface {
	Specs(ctx context.Context, digests [][]byte) (map[string][]byte, error)
}

// Wish is the cache policy of a task in a run.
type Wish struct {
	// Serialize lets one action at a time compute a key.
	Serialize bool
	// MaxAge is the largest age of entries that are used; 0 means any.
	MaxAge time.Duration
	// Outputs says that the task declares outputs.
	Outputs bool
	// Overwrite skips the lookup and replaces an existing entry.
	Overwrite bool
	// Global shares entries between all projects and domains. It is what the run asks for, where that is allowed.
	Global bool
}

// WishOf reads the cache policy of a task in a run. Either may be nil.
func (c Config) WishOf(spec *task.TaskSpec, run *task.RunSpec) Wish {
	template := spec.GetTaskTemplate()
	wish := Wish{
		Serialize: template.GetMetadata().GetCacheSerializable(),
		MaxAge:    c.MaxAge,
		Outputs:   len(template.GetInterface().GetOutputs().GetVariables()) > 0,
		//nolint:staticcheck // clients still send the field that is deprecated
		Overwrite: run.GetOverwriteCache() || run.GetCacheConfig().GetOverwriteCache(),
		Global:    c.Shared && run.GetCacheConfig().GetCacheLookupScope() == task.CacheLookupScope_CACHE_LOOKUP_SCOPE_GLOBAL,
	}
	if age := template.GetMetadata().GetCacheMaxAge(); age != nil {
		wish.MaxAge = max(age.AsDuration(), 0)
	}
	return wish
}

// wishes caches the policies of specs, since many actions share specs.
type wishes struct {
	config Config
	specs  Specs

	mu    sync.Mutex
	tasks map[string]Wish // GUARDED_BY(mu): by digest
	runs  map[string]Wish // GUARDED_BY(mu): by digest
}

// maxWishes bounds the cached policies of each kind.
const maxWishes = 8192

func newWishes(config Config, specs Specs) *wishes {
	return &wishes{config: config, specs: specs, tasks: map[string]Wish{}, runs: map[string]Wish{}}
}

// of returns the policy of each action, in order.
func (w *wishes) of(ctx context.Context, actions []worklists.Cacheable) ([]Wish, error) {
	if err := w.learn(ctx, actions); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	wanted := make([]Wish, len(actions))
	for i := range actions {
		wish, run := w.tasks[string(actions[i].SpecDigest)], w.runs[string(actions[i].RunSpecDigest)]
		wish.Overwrite, wish.Global = run.Overwrite, run.Global
		wanted[i] = wish
	}
	return wanted, nil
}

func (w *wishes) learn(ctx context.Context, actions []worklists.Cacheable) error {
	w.mu.Lock()
	if len(w.tasks) > maxWishes || len(w.runs) > maxWishes {
		w.tasks, w.runs = map[string]Wish{}, map[string]Wish{}
	}
	missing := map[string]struct{}{}
	for i := range actions {
		if _, ok := w.tasks[string(actions[i].SpecDigest)]; !ok && len(actions[i].SpecDigest) > 0 {
			missing[string(actions[i].SpecDigest)] = struct{}{}
		}
		if _, ok := w.runs[string(actions[i].RunSpecDigest)]; !ok && len(actions[i].RunSpecDigest) > 0 {
			missing[string(actions[i].RunSpecDigest)] = struct{}{}
		}
	}
	w.mu.Unlock()
	if len(missing) == 0 {
		return nil
	}
	digests := make([][]byte, 0, len(missing))
	for digest := range missing {
		digests = append(digests, []byte(digest))
	}
	bodies, err := w.specs.Specs(ctx, digests)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range actions {
		if body, ok := bodies[string(actions[i].SpecDigest)]; ok {
			spec := &task.TaskSpec{}
			if proto.Unmarshal(body, spec) == nil {
				w.tasks[string(actions[i].SpecDigest)] = w.config.WishOf(spec, nil)
			}
			delete(bodies, string(actions[i].SpecDigest))
		}
		if body, ok := bodies[string(actions[i].RunSpecDigest)]; ok {
			spec := &task.RunSpec{}
			if proto.Unmarshal(body, spec) == nil {
				w.runs[string(actions[i].RunSpecDigest)] = w.config.WishOf(nil, spec)
			}
			delete(bodies, string(actions[i].RunSpecDigest))
		}
	}
	return nil
}

func keyOf(a *worklists.Cacheable, wish Wish) key {
	if wish.Global {
		return key{text: a.CacheKey}
	}
	return key{a.Project, a.Domain, a.CacheKey}
}
