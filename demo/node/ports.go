package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// All processes of this machine share its ports. A pod whose program takes its port from the environment gets a free one for
// the container that its annotation names; the node answers with the other annotation. A pod that has declared its port and
// cannot have it waits, and says who has it.
const (
	annotationTakesPort = "node.flyte.org/takes-port"
	annotationPort      = "node.flyte.org/port"
	// annotationFixedPort is the port on which a replica of an app listens.
	annotationFixedPort = "flyte.org/app-port"
)

// reasonPortTaken is the reason of a container that waits for its port.
const reasonPortTaken = "PortTaken"

// givePort settles the port of a container before it starts.
func (l *launch) givePort(ctx context.Context) error {
	pod := l.pod
	if pod.Annotations[annotationTakesPort] == l.c.Name {
		port, err := l.w.freePort(ctx)
		if err != nil {
			return err
		}
		for _, name := range []string{"PORT", "_F_APPLE_SILICON_HOST_PORT"} {
			l.env.Set(name, port)
		}
		// The SDK's name for "several apps share the ports of one machine".
		l.env.Set("_F_APPLE_SILICON_ON_HOST", "1")
		return nil
	}
	fixed := pod.Annotations[annotationFixedPort]
	if fixed == "" || pod.Annotations[annotationTakesPort] != "" || !declares(l.c, fixed) {
		return nil
	}
	err := tryPort(ctx, fixed)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return nil // the program finds out what else is wrong
	}
	return &waitError{reason: reasonPortTaken, event: "Failed", err: fmt.Errorf(
		"port %s is taken by %s. All apps share the ports of this machine: stop the other, or give one of them another port", fixed, l.w.n.holder(l.w, fixed))}
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

// freePort is the port of the pod: that of an earlier run, else the one that its program declares, if they are free.
func (w *worker) freePort(ctx context.Context) (string, error) {
	for _, port := range []string{w.givenPort(), w.pod().Annotations[annotationFixedPort]} {
		if port != "" && !w.n.given(w, port) && tryPort(ctx, port) == nil {
			return w.keepPort(port), nil
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	_ = listener.Close()
	return w.keepPort(port), nil
}

func (w *worker) keepPort(port string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.port = port
	return port
}

// given reports whether another pod has or gets a port.
func (n *Node) given(except *worker, port string) bool {
	n.mu.Lock()
	others := slices.Collect(maps.Values(n.workers))
	n.mu.Unlock()
	return slices.ContainsFunc(others, func(w *worker) bool {
		return w != except && !closed(w.ended) && (w.givenPort() == port || w.pod().Annotations[annotationFixedPort] == port && w.pod().Annotations[annotationTakesPort] == "")
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

// holder names who has a port.
func (n *Node) holder(except *worker, port string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range n.workers {
		if pod := w.pod(); w != except && pod.Annotations[annotationFixedPort] == port && !closed(w.ended) {
			return "pod " + pod.Namespace + "/" + pod.Name
		}
	}
	return "another program of this machine"
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
	if pod.Annotations[annotationTakesPort] != c.spec.Name || pod.Annotations[annotationFixedPort] != strconv.Itoa(int(number)) {
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

// probeClient follows no connections over, and trusts every certificate, as a kubelet does.
func probeClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, Proxy: nil, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // as a kubelet
	}}
}
