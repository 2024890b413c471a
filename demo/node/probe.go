package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flyte-binary/flyte-binary/demo/node/podnet"
	"github.com/flyte-binary/flyte-binary/demo/node/process"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// eagerProbe is how often a container that has never been ready is probed: a probe is cheap here, and someone may wait.
const eagerProbe = 100 * time.Millisecond

// probed is a container's probes while one process of it runs.
type probed struct {
	w *worker
	c *container
	p *process.Process
}

// probe runs the probes of a container until its process ends or the node stops. Probes by command run with the container's
// variables and directory, but see no volumes at their mount paths; those by gRPC only connect.
func (w *worker) probe(ctx context.Context, c *container, p *process.Process) {
	if c.spec.ReadinessProbe == nil && c.spec.LivenessProbe == nil && c.spec.StartupProbe == nil {
		return
	}
	w.n.live.Go(func() {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() { // a probe in flight ends with the process
			select {
			case <-p.Done():
				cancel()
			case <-ctx.Done():
			}
		}()
		one := &probed{w: w, c: c, p: p}
		if !one.startup(ctx) {
			return
		}
		if c.spec.LivenessProbe != nil {
			w.n.live.Go(func() { one.liveness(ctx) })
		}
		one.readiness(ctx)
	})
}

// startup waits for the first success, and ends a process that takes too long.
func (o *probed) startup(ctx context.Context) bool {
	probe := o.c.spec.StartupProbe
	if probe == nil {
		return true
	}
	if !o.w.n.after(o.initial(probe), ctx.Done()) {
		return false
	}
	limit := o.w.n.clk.Now().Add(period(probe) * time.Duration(max(1, probe.FailureThreshold)))
	for {
		err := o.once(ctx, probe)
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil:
			return true
		case o.w.n.clk.Now().After(limit):
			o.kill("startup", err)
			return false
		case !o.w.n.after(eagerProbe, ctx.Done()):
			return false
		}
	}
}

// readiness keeps the container's readiness current.
func (o *probed) readiness(ctx context.Context) {
	probe := o.c.spec.ReadinessProbe
	if probe == nil {
		o.setReady(true)
		<-ctx.Done()
		return
	}
	if !o.w.n.after(o.initial(probe), ctx.Done()) {
		return
	}
	pause, successes, failures := eagerProbe, int32(0), int32(0)
	for {
		err := o.once(ctx, probe)
		if ctx.Err() != nil {
			return
		}
		if err == nil && o.answeredByAnother() {
			err = errAnotherProgram
		}
		if err == nil {
			successes, failures = successes+1, 0
			if successes >= max(1, probe.SuccessThreshold) {
				o.setReady(true)
				pause = period(probe)
			}
		} else {
			successes, failures = 0, failures+1
			if failures >= max(1, probe.FailureThreshold) {
				o.setReady(false)
			}
		}
		if !o.w.n.after(pause, ctx.Done()) {
			return
		}
	}
}

// liveness ends a process that does not answer; the pod's policy starts it again.
func (o *probed) liveness(ctx context.Context) {
	probe := o.c.spec.LivenessProbe
	pause, failures := max(0, o.initial(probe))+period(probe), int32(0)
	for o.w.n.after(pause, ctx.Done()) {
		pause = period(probe)
		err := o.once(ctx, probe)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failures = 0
		default:
			if failures++; failures >= max(1, probe.FailureThreshold) {
				o.kill("liveness", err)
				return
			}
		}
	}
}

func (o *probed) kill(which string, why error) {
	o.w.event(corev1.EventTypeWarning, "Unhealthy", fmt.Sprintf("Container %s failed its %s probe and is stopped: %v", o.c.spec.Name, which, why))
	o.p.Terminate()
	if !o.w.n.after(graceOf(o.w.pod()), o.p.Done()) {
		return
	}
	o.p.Kill()
}

var errAnotherProgram = errors.New("another program listens on the port of the container")

// answeredByAnother reports whether a probe that makes the container ready reached another program: one may have taken the
// container's port before its process did. Requests would go there.
func (o *probed) answeredByAnother() bool {
	o.w.mu.Lock()
	port, unready := o.c.port, o.c.unready
	o.w.mu.Unlock()
	return unready && port != "" && !o.p.ListensOn(port)
}

// setReady changes nothing once the container has another process: the answer of a probe may come late.
func (o *probed) setReady(ready bool) {
	o.w.mu.Lock()
	changed := o.c.unready == ready && o.c.proc == o.p
	if changed {
		o.c.unready = !ready
	}
	o.w.mu.Unlock()
	if changed {
		o.w.changed()
	}
}

// once runs a probe once.
func (o *probed) once(ctx context.Context, probe *corev1.Probe) error {
	ctx, cancel := context.WithTimeout(ctx, seconds(probe.TimeoutSeconds, time.Second))
	defer cancel()
	switch {
	case probe.TCPSocket != nil:
		return connect(ctx, o.host(probe.TCPSocket.Host, probe.TCPSocket.Port))
	case probe.HTTPGet != nil:
		return o.get(ctx, probe.HTTPGet)
	case probe.GRPC != nil:
		return connect(ctx, o.host("", intstr.FromInt32(probe.GRPC.Port)))
	case probe.Exec != nil:
		return o.run(ctx, probe.Exec.Command)
	}
	return nil
}

func connect(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

func (o *probed) get(ctx context.Context, action *corev1.HTTPGetAction) error {
	scheme := strings.ToLower(string(action.Scheme))
	if scheme == "" {
		scheme = "http"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+o.host(action.Host, action.Port)+"/"+strings.TrimPrefix(action.Path, "/"), nil)
	if err != nil {
		return err
	}
	for _, header := range action.HTTPHeaders {
		if strings.EqualFold(header.Name, "Host") {
			request.Host = header.Value
		}
		request.Header.Add(header.Name, header.Value)
	}
	answer, err := probeClient().Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode < http.StatusOK || answer.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("the answer is %s", answer.Status)
	}
	return nil
}

// run runs a command as the container would. After a restart of the node its variables are not known; then it succeeds.
func (o *probed) run(ctx context.Context, line []string) error {
	o.w.mu.Lock()
	command := o.c.command
	o.w.mu.Unlock()
	if command == nil || len(line) == 0 {
		return nil
	}
	path, err := o.executable(command.Env, line[0])
	if err != nil {
		if path, err = exec.LookPath(line[0]); err != nil {
			return err
		}
	}
	one := exec.CommandContext(ctx, path)
	one.Args, one.Env, one.Dir = line, command.Env, command.Dir
	if port := command.Port; port != nil { // it looks for the container where the container believes to be
		one.Path = o.w.n.launcher.Executable
		one.Args = append([]string{one.Path, shim.PortCommand, strconv.Itoa(int(port.Declared)), strconv.Itoa(int(port.Given)), path}, line...)
	}
	one.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	one.Cancel = func() error { return syscall.Kill(-one.Process.Pid, syscall.SIGKILL) } // with what it has started
	err = one.Run()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("the command %s did not end in time", line[0])
	}
	return err
}

// executable finds a program in the PATH of the container.
func (o *probed) executable(env []string, name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, variable := range env {
		path, found := strings.CutPrefix(variable, "PATH=")
		if !found {
			continue
		}
		for _, dir := range strings.Split(path, ":") {
			if file, err := exec.LookPath(dir + "/" + name); err == nil {
				return file, nil
			}
		}
	}
	return "", exec.ErrNotFound
}

// host is the address that a probe means.
func (o *probed) host(host string, port intstr.IntOrString) string {
	if host == "" {
		host = podnet.IP(o.w.pod(), o.w.n.cfg.Address)
	}
	return net.JoinHostPort(host, strconv.Itoa(int(o.w.portOf(o.c, port))))
}

// initial is what is left of a probe's initial delay. It begins with the process, which may be older than this node.
func (o *probed) initial(probe *corev1.Probe) time.Duration {
	return o.p.State().StartedAt.Add(seconds(probe.InitialDelaySeconds, 0)).Sub(o.w.n.clk.Now())
}

func seconds(number int32, otherwise time.Duration) time.Duration {
	if number <= 0 {
		return otherwise
	}
	return time.Duration(number) * time.Second
}

func period(probe *corev1.Probe) time.Duration { return seconds(probe.PeriodSeconds, 10*time.Second) }
