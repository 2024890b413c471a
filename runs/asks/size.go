package asks

import (
	"context"
	"strings"

	"github.com/flyte-binary/flyte-binary/runs/placement"
)

// Size is what an action requests while it runs.
type Size struct {
	CPUMilli, Memory, GPUs int64
	// Accelerator is the name of the kind of its GPUs; empty if the task does not name one.
	Accelerator string
	// Concurrency is how many actions share the resources, in a reusable environment; otherwise 0.
	Concurrency int64
}

// sizeOf is the sum over all pods of a task.
func sizeOf(request *placement.Request, concurrency int32) Size {
	size := Size{Accelerator: request.Accelerator, Concurrency: int64(concurrency)}
	for name, amount := range request.Resources {
		switch {
		case name == placement.CPU:
			size.CPUMilli = amount
		case name == placement.Memory:
			size.Memory = amount
		case strings.Contains(name, "/"): // a device
			size.GPUs += amount
		}
	}
	return size
}

// Sizes reads what actions with each of these specs request, by digest. Those that are not stored are left out.
func (r *Reader) Sizes(ctx context.Context, digests [][]byte) (map[string]Size, error) {
	found := make(map[string]Size, len(digests))
	err := r.known(ctx, digests, func(digest []byte, known *ofTask) { found[string(digest)] = sizeOf(&known.request, known.concurrency) })
	return found, err
}
