package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// All processes of this machine share its ports. A pod whose program takes its port from the environment gets a free one for
// the container that its annotation names; the node answers with the other annotation. A pod that has declared its port gets it
// or another one too, where the kernel can replace the port that a program asks for (Config.GivePorts). Elsewhere it waits until
// its port is free, and says who has it.
const (
	annotationTakesPort = "node.flyte.org/takes-port"
	annotationPort      = "node.flyte.org/port"
	// annotationFixedPort is the port on which a replica of an app listens.
	annotationFixedPort = "flyte.org/app-port"
	// annotationApp names the app of a replica, as project/domain/name.
	annotationApp = "flyte.org/app-id"
)

// reasonPortTaken is the reason of a container that waits for its port.
const reasonPortTaken = "PortTaken"

// portInterval is how often a container that waits for its port looks whether it is free.
const portInterval = 100 * time.Millisecond

// settled is a container whose port is settled.
type settled struct {
	spec *corev1.Container
	port *shim.Port // that its processes have instead of theirs; nil for none
}

// withPort settles the port of a container before it starts, and returns what to start: a container that takes its port from
// the environment gets it there, where its command and its other variables may refer to it. One pod at a time does this, so no
// two choose the same.
func (w *worker) withPort(ctx context.Context, pod *corev1.Pod, c *container) (settled, error) {
	w.n.ports.Lock()
	defer w.n.ports.Unlock()
	if pod.Annotations[annotationTakesPort] == c.spec.Name {
		port, err := w.freePort(ctx)
		if err != nil {
			return settled{}, err
		}
		w.hold(c, port)
		return settled{spec: inEnvironment(c.spec, port)}, nil
	}
	if port := w.replacedPort(); port != "" {
		return w.withAnother(ctx, c, port)
	}
	fixed := w.fixedPort(c.spec)
	if fixed == "" {
		return settled{spec: c.spec}, nil
	}
	if holder := w.n.holder(ctx, w, fixed); holder != "" {
		return settled{}, &waitError{reason: reasonPortTaken, event: "Failed", port: fixed, holder: holder, err: fmt.Errorf(
			"port %s is taken by %s. All apps share the ports of this machine: stop the other, or give one of them another port, as "+
				"AppEnvironment(port=...) does", fixed, holder)}
	}
	w.hold(c, fixed)
	return settled{spec: c.spec}, nil
}

// withAnother gives the pod a port. All of its containers find it at the declared one, as in a network of their own.
func (w *worker) withAnother(ctx context.Context, c *container, declared string) (settled, error) {
	given := w.givenPort()
	if given == "" || !w.holds(given) { // the container that listens may run already
		var err error
		if given, err = w.freePort(ctx); err != nil {
			return settled{}, err
		}
	}
	if declares(c.spec, declared) {
		w.hold(c, given)
	}
	if given == declared {
		return settled{spec: c.spec}, nil
	}
	port := &shim.Port{}
	for _, one := range []struct {
		text string
		into *uint16
	}{{declared, &port.Declared}, {given, &port.Given}} {
		number, err := strconv.ParseUint(one.text, 10, 16)
		if err != nil {
			return settled{}, fmt.Errorf("the port %q: %w", one.text, err)
		}
		*one.into = uint16(number)
	}
	return settled{spec: c.spec, port: port}, nil
}

// inEnvironment returns a container whose variables have its port. They come first: others may refer to them.
func inEnvironment(c *corev1.Container, port string) *corev1.Container {
	given := []corev1.EnvVar{
		{Name: "PORT", Value: port},
		{Name: "_F_APPLE_SILICON_HOST_PORT", Value: port},
		// The SDK's name for "several apps share the ports of one machine".
		{Name: "_F_APPLE_SILICON_ON_HOST", Value: "1"},
	}
	c = c.DeepCopy()
	c.Env = slices.Concat(given, slices.DeleteFunc(c.Env, func(declared corev1.EnvVar) bool {
		return slices.ContainsFunc(given, func(one corev1.EnvVar) bool { return one.Name == declared.Name })
	}))
	return c
}

// untilFree waits until a port is free or has another holder. It returns false if the pod or the node stops first.
func (w *worker) untilFree(ctx context.Context, port, holder string) bool {
	for w.n.after(portInterval, w.stopped) {
		w.n.ports.Lock()
		now := w.n.holder(ctx, w, port)
		w.n.ports.Unlock()
		if now != holder {
			return true
		}
	}
	return false
}

// fixedPort is the port that a container has declared and cannot change; empty for none.
func (w *worker) fixedPort(c *corev1.Container) string {
	annotations := w.pod().Annotations
	if port := annotations[annotationFixedPort]; annotations[annotationTakesPort] == "" && declares(c, port) {
		return port
	}
	return ""
}

// replacedPort is the port that a container of the pod has declared, if the pod may get another one; empty for none. The port of
// the demo itself stays: its tasks and apps reach the server there.
func (w *worker) replacedPort() string {
	pod := w.pod()
	port := pod.Annotations[annotationFixedPort]
	if !w.n.cfg.GivePorts || pod.Annotations[annotationTakesPort] != "" || w.n.own(port) {
		return ""
	}
	for _, c := range w.containers {
		if declares(c.spec, port) {
			return port
		}
	}
	return ""
}

// own reports whether a port is that of the demo.
func (n *Node) own(port string) bool {
	_, own, err := net.SplitHostPort(n.cfg.Endpoint)
	return err == nil && own == port
}

// hold records the port of a process that is about to start, and release that it has ended.
func (w *worker) hold(c *container, port string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.port = port
}

func (w *worker) release(c *container) { w.hold(c, "") }

// holds reports whether a process of the pod has a port, or is about to.
func (w *worker) holds(port string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.containers, func(c *container) bool { return c.port == port })
}

// declares reports whether a container declares a port.
func declares(c *corev1.Container, port string) bool {
	for _, one := range c.Ports {
		if strconv.Itoa(int(one.ContainerPort)) == port {
			return true
		}
	}
	return false
}

// freePort is the port of the pod: that of an earlier run, else the one that its program declares, if they are free. A port that another
// app had is left alone: who has not heard yet that a replica has ended still sends its requests there.
func (w *worker) freePort(ctx context.Context) (string, error) {
	app := w.pod().Annotations[annotationApp]
	for _, port := range []string{w.givenPort(), w.pod().Annotations[annotationFixedPort]} {
		if before, had := w.n.had[port]; port == "" || had && before != app {
			continue
		}
		if !w.n.given(w, port) && tryPort(ctx, port) == nil {
			w.n.had[port] = app
			return port, w.keepPort(port)
		}
	}
	for {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return "", fmt.Errorf("find a free port: %w", err)
		}
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		_ = listener.Close()
		if !w.n.given(w, port) { // to a program that does not listen yet
			w.n.had[port] = app
			return port, w.keepPort(port)
		}
	}
}

// portFile is where the pod's directory has the port that its program was given: the node may end before the API has it.
const portFile = "port"

func (w *worker) keepPort(port string) error {
	if err := os.WriteFile(filepath.Join(w.dir, portFile), []byte(port), 0o600); err != nil {
		return fmt.Errorf("keep the port of the pod: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.port = port
	return nil
}

// recallPort finds the port that an earlier node gave.
func (w *worker) recallPort() {
	raw, err := os.ReadFile(filepath.Join(w.dir, portFile))
	if err != nil {
		return // it gave none
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.port = string(raw)
}

// given reports whether another pod has or gets a port.
func (n *Node) given(except *worker, port string) bool {
	n.mu.Lock()
	others := slices.Collect(maps.Values(n.workers))
	n.mu.Unlock()
	return slices.ContainsFunc(others, func(w *worker) bool {
		if w == except || closed(w.ended) {
			return false
		}
		annotations := w.pod().Annotations
		return w.holds(port) || w.givenPort() == port || annotations[annotationFixedPort] == port && annotations[annotationTakesPort] == "" && w.replacedPort() == ""
	})
}

// tryPort reports whether a program could listen on a port.
func tryPort(ctx context.Context, port string) error {
	for _, host := range []string{"127.0.0.1", "0.0.0.0"} {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort(host, port))
		if err != nil {
			return err
		}
		_ = listener.Close()
	}
	return nil
}

// holder names who else has a port; empty when a program could listen there. A process that has just started may not listen
// yet, and has its port nevertheless. What else is wrong with a port, its program finds out.
func (n *Node) holder(ctx context.Context, except *worker, port string) string {
	n.mu.Lock()
	others := slices.Collect(maps.Values(n.workers))
	n.mu.Unlock()
	for _, w := range others {
		if w != except && w.holds(port) {
			pod := w.pod()
			if app := pod.Annotations[annotationApp]; app != "" {
				return "app " + app
			}
			return "pod " + pod.Namespace + "/" + pod.Name
		}
	}
	if n.own(port) {
		return "this demo"
	}
	if errors.Is(tryPort(ctx, port), syscall.EADDRINUSE) {
		return "another program of this machine"
	}
	return ""
}

// portOf is the port that a probe of a container means: by number or name, or that which the container was given instead.
func (w *worker) portOf(c *container, port intstr.IntOrString) int32 {
	number := port.IntVal
	for _, declared := range c.spec.Ports {
		if port.Type == intstr.String && declared.Name == port.StrVal {
			number = declared.ContainerPort
		}
	}
	pod := w.pod()
	instead := pod.Annotations[annotationTakesPort] == c.spec.Name || w.replacedPort() != ""
	if !instead || pod.Annotations[annotationFixedPort] != strconv.Itoa(int(number)) {
		return number
	}
	if given, err := strconv.ParseInt(w.givenPort(), 10, 32); err == nil {
		return int32(given)
	}
	return number
}

// givenPort is the port that the pod was given by this node or the one before; empty for none.
func (w *worker) givenPort() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.port != "" {
		return w.port
	}
	return w.latest.Annotations[annotationPort]
}

// maxRedirects bounds those of one probe.
const maxRedirects = 10

// probeClient keeps no connections, and trusts every certificate, as a kubelet does. An answer that leads to another host
// counts as it is.
func probeClient() *http.Client {
	local := func(next *http.Request, before []*http.Request) error {
		if len(before) >= maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		if next.URL.Hostname() != before[0].URL.Hostname() {
			return http.ErrUseLastResponse
		}
		return nil
	}
	return &http.Client{CheckRedirect: local, Transport: &http.Transport{
		DisableKeepAlives: true, Proxy: nil, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // as a kubelet
	}}
}
