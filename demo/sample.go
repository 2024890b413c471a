package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
)

// runSample runs a Python file through the SDK's command line, and prints what to try next.
func (d *demo) runSample(ctx context.Context) {
	file, err := filepath.Abs(d.opts.sample)
	if err != nil {
		d.screen.Line("sample: %v", err)
		return
	}
	run := "sample" + strconv.FormatInt(d.clock.Now().Unix(), 36)
	d.screen.Line("\nRunning %s through the SDK:\n  flyte run --follow %s main", d.opts.sample, filepath.Base(file))
	if !d.flyte(ctx, filepath.Dir(file), "run", "--name", run, "--follow", filepath.Base(file), "main") {
		return
	}
	page := d.url() + "/v2/domain/development/project/flytesnacks/runs/" + run
	// The command succeeds when it could follow the run, whatever its outcome.
	switch ended, err := d.endOf(ctx, run); {
	case ctx.Err() != nil:
		return
	case err != nil:
		d.screen.Line("sample: %v", err)
		return
	case ended != common.ActionPhase_ACTION_PHASE_SUCCEEDED:
		d.screen.Line("\nThe sample failed: %s ended as %s. See %s, and the server's log in %s.",
			run, phase.Name(ended), page, d.dir.Logs())
		return
	}
	d.screen.Line("\nResult of %s:", run)
	if !d.flyte(ctx, filepath.Dir(file), "get", "io", "--outputs-only", run) {
		return
	}
	flyte := filepath.Join(d.opts.python.Dir, "bin", "flyte") + " --config " + d.clientConfig()
	d.screen.Line("\nRun %s: %s\n\nTry next, in another terminal:", run, page)
	d.screen.Line("  %s get action %s", flyte, run)
	d.screen.Line("  %s get logs %s", flyte, run)
	d.screen.Line("  %s run --follow %s main --name you", flyte, filepath.Join(filepath.Dir(d.opts.sample), "hello.py"))
	d.screen.Line("\nThe demo stays up until Ctrl-C.")
}

// endOf waits for the end of a run of the sample's project, which may come after the end of its log, and returns its phase.
func (d *demo) endOf(ctx context.Context, run string) (common.ActionPhase, error) {
	runs := workflowconnect.NewRunServiceClient(http.DefaultClient, d.url())
	for {
		answer, err := runs.GetRunDetails(ctx, &workflow.GetRunDetailsRequest{
			RunId: &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: run},
		})
		if err != nil {
			return 0, fmt.Errorf("read the run %s: %w", run, err)
		}
		if phase := answer.GetDetails().GetAction().GetStatus().GetPhase(); protomap.Terminal(phase) {
			return phase, nil
		}
		if err := clock.Sleep(ctx, d.clock, 100*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// flyte runs the SDK's command line and reports whether it succeeded.
func (d *demo) flyte(ctx context.Context, dir string, args ...string) bool {
	cmd := exec.CommandContext(ctx, filepath.Join(d.opts.python.Dir, "bin", "flyte"), append([]string{"--config", d.clientConfig()}, args...)...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // on a terminal the command draws its progress
	cmd.Env = append(os.Environ(), "FLYTE_DISABLE_SENTRY=1")
	if err := cmd.Run(); err != nil && !abortedAtExit(err) {
		if ctx.Err() == nil {
			d.screen.Line("The sample failed (%v). The server's log is in %s.", err, d.dir.Logs())
		}
		return false
	}
	return true
}

// abortedAtExit reports whether the client aborted. Threads of its HTTP library sometimes abort the process while the
// interpreter exits, after the work is done.
func abortedAtExit(err error) bool {
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return false
	}
	status, ok := ended.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGABRT
}
