package reconciler

import (
	"crypto/sha256"
	"runtime"
	"sync"
	"weak"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// templates decodes task templates. Actions with the same template, such as the children of a fan-out, share one decoded copy, which
// is dropped with the last of them. Callers must not modify it.
type templates struct {
	mu     sync.Mutex
	shared map[digest]weak.Pointer[core.TaskTemplate] // GUARDED_BY(mu)
}

type digest [sha256.Size]byte

func newTemplates() *templates {
	return &templates{shared: map[digest]weak.Pointer[core.TaskTemplate]{}}
}

func (t *templates) decode(body []byte) (*core.TaskTemplate, error) {
	key := digest(sha256.Sum256(body))
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := t.shared[key].Value(); known != nil {
		return known, nil
	}
	template := &core.TaskTemplate{}
	if err := proto.Unmarshal(body, template); err != nil {
		return nil, err
	}
	t.shared[key] = weak.Make(template)
	runtime.AddCleanup(template, t.forget, key)
	return template, nil
}

// forget drops a template that is gone, unless it was decoded again in the meantime.
func (t *templates) forget(key digest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shared[key].Value() == nil {
		delete(t.shared, key)
	}
}
