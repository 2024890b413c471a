package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
)

// What the demo prints for people, which is the only place that has its address and its kubeconfig.
var (
	demoReady      = regexp.MustCompile(`Ready in \S+: http://(\S+)`)
	DemoKubeconfig = regexp.MustCompile(`kubectl +--kubeconfig (\S+)`)
)

// StartDemo starts the built demo with its data in a temporary directory, and waits until it is ready at the returned host:port. program
// is empty for the usual one; python is the environment of its tasks; more are further flags.
func StartDemo(ctx context.Context, dir, program, python string, more ...string) (*supervise.Process, string, error) {
	program, err := filepath.Abs(cmp.Or(program, os.Getenv("FLYTE_BINARY_DEMO"), filepath.Join("bin", "flyte-binary")))
	if err != nil {
		return nil, "", err
	}
	if _, err := os.Stat(program); err != nil {
		return nil, "", fmt.Errorf("%w; build it with make build-demo", err)
	}
	process, err := Spawn(dir, "demo", program, nil, append([]string{"demo", "--ephemeral", "--listen", "127.0.0.1:0", "--python", python}, more...)...)
	if err != nil {
		return nil, "", err
	}
	address := ""
	err = AwaitReady(ctx, process, func(context.Context) error {
		said, err := os.ReadFile(filepath.Join(dir, "demo.log"))
		if err != nil {
			return err
		}
		found := demoReady.FindSubmatch(said)
		if found == nil {
			return errors.New("the demo is not ready")
		}
		address = string(found[1])
		return nil
	})
	if err != nil {
		StopProcess(process)
		return nil, "", err
	}
	return process, address, nil
}
