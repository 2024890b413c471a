package devices

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/text/clip"
)

// toolTimeout bounds a call of a tool. One that has to wake the driver takes seconds.
const toolTimeout = 20 * time.Second

// Run runs a tool and returns what it prints. A tool that is not installed is exec.ErrNotFound.
type Run func(ctx context.Context, name string, args ...string) (string, error)

// Tools runs the programs of this machine.
func Tools(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	var out, errs bytes.Buffer
	command := exec.CommandContext(ctx, name, args...)
	command.Stdout, command.Stderr, command.WaitDelay = &out, &errs, time.Second
	if err := command.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", fmt.Errorf("%s: %w", name, exec.ErrNotFound)
		}
		// nvidia-smi writes its errors to the standard output.
		said := strings.Join(strings.Fields(clip.Head(errs.String()+" "+out.String(), 500)), " ")
		return "", fmt.Errorf("%s: %w: %s", name, err, said)
	}
	return out.String(), nil
}

// Find lists the devices of this machine. A tool that is not installed finds nothing, and one that fails is an error; the devices of
// the other maker are returned all the same.
func Find(ctx context.Context, run Run) ([]Device, error) {
	var all []Device
	var errs []error
	for _, find := range []func(context.Context, Run) ([]Device, error){findNVIDIA, findAMD} {
		found, err := find(ctx, run)
		if err != nil && !errors.Is(err, exec.ErrNotFound) {
			errs = append(errs, err)
			continue
		}
		all = append(all, found...)
	}
	return all, errors.Join(errs...)
}

// Use is how busy a device is.
type Use struct {
	// Percent of the time in which it computed, over the last second or less; -1 if that is unknown.
	Percent int
	// Bytes of its memory that are in use; -1 if that is unknown.
	Bytes int64
}

// Measure says how busy devices are, by ID. What no tool tells is left out.
func Measure(ctx context.Context, run Run, makers ...Maker) map[string]Use {
	all := map[string]Use{}
	for _, maker := range makers {
		switch maker {
		case NVIDIA:
			measureNVIDIA(ctx, run, all)
		case AMD:
			measureAMD(ctx, run, all)
		}
	}
	return all
}
