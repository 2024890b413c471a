package warm

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
	"github.com/flyte-binary/flyte-binary/inpod/forkable"
)

// parent is a process that has imported the SDK.
type parent struct {
	cmd    *exec.Cmd
	out    *tail
	exited chan struct{} // closed when the process is gone

	env   []string    // what it was started with
	read  []string    // names of the variables that its imports have read
	files fingerprint // what it has imported

	learned map[string][2]float64 // the packages that it keeps aside: seconds and bytes that each took

	control *net.UnixConn // its end is the parent's
	asked   chan struct{} // has a token for each fork that was asked for and is not made: its room bounds how long one waits for others
}

// hello is the first thing that a parent says.
type hello struct {
	Unfit   string                `json:"unfit"`
	Refused string                `json:"refused"` // the learned package because of which it is unfit
	Read    []string              `json:"read"`
	Sources []string              `json:"sources"`
	Learned map[string][2]float64 `json:"learned"` // seconds and bytes that each took
}

// refusal is a learned package that must not be imported before a fork.
type refusal struct{ name, why string }

// Error implements error.
func (r *refusal) Error() string { return r.name + " cannot be imported before a fork: " + r.why }

// program is what a parent is started for.
type program struct {
	interpreter []string // as in the first line of the script
	script      string
	env         []string
	learned     []string // packages that tasks have used
	varying     []string // names of variables that tasks have and parents do not
	reports     string   // the directory in which tasks count what they import
	forkers     int      // how many processes fork at the same time
}

// forksEach is how many forks each process that forks is asked for at a time: the next request is there when one is done.
const forksEach = 4

// startParent starts a parent. It does not wait for it.
func startParent(file, shimPath string, p program) (*parent, error) {
	ours, theirs, err := forkable.SocketPair()
	if err != nil {
		return nil, fmt.Errorf("make the socket of a warm parent: %w", err)
	}
	defer func() { _ = theirs.Close() }()
	config, err := json.Marshal(map[string]any{
		"script": p.script, "interpreter": p.interpreter, "modules": forkable.Modules(),
		"learned": append([]string{}, p.learned...), "varying": append([]string{}, p.varying...), "reports": p.reports,
		"seconds": learnedTime.Seconds(), "bytes": learnedBytes, "forkers": p.forkers,
		"shim": map[string]any{"path": shimPath, "arguments": []string{shim.Command}, "env": environment(shim.Environment())},
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("encode the warm parent's configuration: %w", err), ours.Close())
	}
	one := &parent{out: &tail{}, exited: make(chan struct{}), control: ours, env: p.env, asked: make(chan struct{}, forksEach*p.forkers)}
	arguments := append(p.interpreter[1:len(p.interpreter):len(p.interpreter)], file, string(config))
	one.cmd = exec.Command(p.interpreter[0], arguments...) //nolint:noctx // it ends with its socket
	one.cmd.Env, one.cmd.Dir = p.env, "/"
	one.cmd.Stdout, one.cmd.Stderr = one.out, one.out
	one.cmd.ExtraFiles = []*os.File{theirs}
	one.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a terminal's Ctrl-C is not for it
	one.cmd.WaitDelay = time.Second                          // tasks hold its output for a moment
	if err := one.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start a warm parent: %w", err), ours.Close())
	}
	go func() {
		defer close(one.exited)
		_ = one.cmd.Wait()
	}()
	return one, nil
}

// environment is a list of variables as a map.
func environment(list []string) map[string]string {
	all := map[string]string{}
	for _, variable := range list {
		for i := range variable {
			if variable[i] == '=' {
				all[variable[:i]] = variable[i+1:]
				break
			}
		}
	}
	return all
}

// greet waits until the parent has imported everything, as long as it makes progress, but not after the deadline.
func (p *parent) greet(deadline time.Time, stall time.Duration) error {
	reader := bufio.NewReader(&patient{of: p.control, deadline: deadline, stall: stall, progress: progressOf(p.cmd.Process.Pid)})
	line, err := reader.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the warm parent did not get ready: %w: %s", err, p.out)
	}
	var said hello
	if err := json.Unmarshal(line, &said); err != nil {
		return fmt.Errorf("the warm parent's answer: %w", err)
	}
	if said.Refused != "" {
		return &refusal{name: said.Refused, why: said.Unfit}
	}
	if said.Unfit != "" {
		return fmt.Errorf("the environment cannot be forked from: %s", said.Unfit)
	}
	p.read, p.files, p.learned = said.Read, fingerprintOf(said.Sources), said.Learned
	return nil
}

// gone reports whether the process has ended.
func (p *parent) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// end ends the process. What it has forked is not touched.
func (p *parent) end() {
	_ = p.control.Close()
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// fork has a shim made, see process.Forker. Forks do not wait for each other's shims, only for room. After an error the parent is gone, so
// that it cannot make it later, and what others have asked it for fails.
func (p *parent) fork(limit time.Duration, files ...*os.File) error {
	p.asked <- struct{}{}
	defer func() { <-p.asked }()
	err := p.tryFork(limit, files)
	if err != nil {
		p.end()
	}
	return err
}

func (p *parent) tryFork(limit time.Duration, files []*os.File) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = read.Close() }()
	var numbers []int
	for _, file := range append(files, write) {
		numbers = append(numbers, int(file.Fd()))
	}
	deadline := time.Now().Add(limit)
	_ = p.control.SetWriteDeadline(deadline)
	_, _, err = p.control.WriteMsgUnix([]byte("f"), syscall.UnixRights(numbers...), nil)
	_ = write.Close()
	if err != nil {
		return fmt.Errorf("ask the warm parent for a fork: %w", err)
	}
	// The forked process writes a byte and becomes the shim, which closes the pipe.
	_ = read.SetReadDeadline(deadline)
	answer, err := io.ReadAll(read)
	if err != nil {
		return fmt.Errorf("wait for the warm parent's fork: %w", err)
	}
	if len(answer) == 0 {
		return errors.New("the warm parent did not fork")
	}
	return nil
}

// tail keeps the end of what a process writes.
type tail struct {
	mu   sync.Mutex
	text []byte // GUARDED_BY(mu)
}

// Write implements io.Writer.
func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, data...)
	t.text = t.text[max(0, len(t.text)-2<<10):]
	return len(data), nil
}

// String implements fmt.Stringer.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
