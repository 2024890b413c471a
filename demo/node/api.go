package node

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// isAPI reports whether an error comes from a call to the API server, not from this machine.
func isAPI(err error) bool {
	var status apierrors.APIStatus
	var request *url.Error
	var body *net.OpError // the connection broke while the answer was read
	return errors.As(err, &status) || errors.As(err, &request) || errors.As(err, &body) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}

// apiAddress is where processes reach the API server, if they have a token for it.
func (n *Node) apiAddress() (host, port string, ok bool) {
	if !n.cfg.ServiceAccountTokens {
		return "", "", false
	}
	address, err := url.Parse(n.apiURL)
	if err != nil {
		return "", "", false
	}
	host, port, err = net.SplitHostPort(address.Host)
	return host, port, err == nil
}

// mountPaths are the paths at which a container has its volumes.
func mountPaths(c *corev1.Container) []string {
	paths := make([]string, 0, len(c.VolumeMounts))
	for _, m := range c.VolumeMounts {
		paths = append(paths, m.MountPath)
	}
	return paths
}

// containerID names a run of a container, as the statuses have it. Called with the worker's lock held or where the run
// cannot change.
func (w *worker) containerID(c *container) string {
	return "process://" + string(w.uid) + "/" + c.spec.Name
}
