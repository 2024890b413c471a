// Command task is what the pods of a storm run: a small program that speaks to the server as the SDK does in a task. It
// reads its script from inputs.pb, watches its children, records them, waits for their ends, and writes outputs.pb or
// error.pb. It notes what it did and saw in the ledger. It knows only the wire contract of the product.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/tests/faults/ledger"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// lifeLimit bounds the life of a process: one that waits longer would wait forever.
const lifeLimit = 4 * time.Minute

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), lifeLimit)
	defer cancel()
	if how := os.Getenv(script.MemberEnv); how != "" {
		os.Exit(member(ctx, how))
	}
	if os.Getenv(script.AppEnv) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, "app:", err)
			os.Exit(1)
		}
		return
	}
	code, err := run(ctx, os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "task:", err)
	}
	os.Exit(code)
}

// taskProcess is one attempt of one action.
type taskProcess struct {
	*ledger.Writer
	node         script.Node
	run, action  string
	base, output string
	*server
	program, ledgerDir string
}

func run(ctx context.Context, input, output string) (int, error) {
	attempt, err := strconv.Atoi(os.Getenv("FLYTE_ATTEMPT_NUMBER"))
	if err != nil {
		return 1, fmt.Errorf("FLYTE_ATTEMPT_NUMBER: %w", err)
	}
	p := &taskProcess{
		run: os.Getenv("RUN_NAME"), action: os.Getenv("ACTION_NAME"), base: os.Getenv("_U_RUN_BASE"), output: output,
		server: connectTo(os.Getenv("_U_EP_OVERRIDE")), program: os.Getenv(script.ProgramEnv), ledgerDir: os.Getenv(script.LedgerEnv),
	}
	if p.Writer, err = ledger.Open(p.ledgerDir, p.run, p.action, attempt+1); err != nil {
		return 1, err
	}
	if !strings.HasSuffix(input, ".pb") {
		input = filepath.Join(input, "inputs.pb")
	}
	body, err := os.ReadFile(input)
	if err != nil {
		return 1, err
	}
	if p.node, err = script.Decode(body); err != nil {
		return 1, err
	}
	if p.node.Stubborn {
		go p.holdOut()
		if attempt > 0 {
			p.node.Millis = 0
		}
	}
	fmt.Fprintln(os.Stderr, "task: of", p.node.Tenant.Content)
	if err := p.checkSecret(); err != nil {
		return 1, err
	}
	earlier, err := p.Failures()
	if err != nil {
		return 1, err
	}
	seen, err := p.children(ctx)
	if err != nil {
		if ctx.Err() != nil {
			_ = p.Note(ledger.Line{What: ledger.Hang, Note: err.Error()}) // the exit code says so too
		}
		return 1, err
	}
	if !sleep(ctx, time.Duration(p.node.Millis)*time.Millisecond) {
		return 1, ctx.Err()
	}
	if p.node.Fatal || earlier < p.node.Failures {
		if err := p.Note(ledger.Line{What: ledger.Failing}); err != nil {
			return 1, err
		}
		return 1, p.fail(ctx)
	}
	if err := p.succeed(ctx, seen); err != nil {
		return 1, err
	}
	return 0, p.Note(ledger.Line{What: ledger.Done})
}

// aliveEvery is how often a process that was asked to end notes that it still lives.
const aliveEvery = 50 * time.Millisecond

// holdOut does not end when it is asked to, and notes how long it lives.
func (p *taskProcess) holdOut() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	for range asked {
		for p.Note(ledger.Line{What: ledger.Alive}) == nil {
			clock.Sleep(context.Background(), clock.System{}, aliveEvery) //nolint:errcheck // it has no end
		}
	}
}

// memberMillis is how long a member lives that ends by itself.
const memberMillis = 200

// member is a process that only belongs to a cluster. It returns its exit code.
func member(ctx context.Context, how string) int {
	if how == script.MemberEnds {
		sleep(ctx, memberMillis*time.Millisecond)
		return 0
	}
	<-ctx.Done()
	return 1
}

// sleep waits; false means that the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	return clock.Sleep(ctx, clock.System{}, d) == nil
}
