package main

import (
	"context"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// write stores a message. A full disk is waited out: a task that cannot even write its error would look like one that failed
// by itself.
func write(ctx context.Context, path string, message proto.Message) error {
	for {
		err := script.WriteFile(path, message)
		if err == nil || !sleep(ctx, 100*time.Millisecond) {
			return err
		}
	}
}

func (p *taskProcess) fail(ctx context.Context) error {
	return write(ctx, filepath.Join(p.output, "error.pb"), p.node.Failure())
}

func (p *taskProcess) succeed(ctx context.Context, seen map[string]int32) error {
	return write(ctx, filepath.Join(p.output, "outputs.pb"), p.node.Outputs(len(seen)))
}
