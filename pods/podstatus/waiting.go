package podstatus

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// portGrace is how long a port may be taken: as long as another program may take to stop, and a little more.
const portGrace = 40 * time.Second

// ofWaiting diagnoses a waiting container. A nil failure means that it starts normally. Otherwise the attempt is lost once
// the container has waited for the grace that is returned.
func ofWaiting(name string, waiting *corev1.ContainerStateWaiting, grace podspec.Grace) (*failure.Failure, time.Duration) {
	detail := "container " + name + " waits with " + waiting.Reason
	if waiting.Message != "" {
		detail += ": " + waiting.Message
	}
	switch waiting.Reason {
	case "", "ContainerCreating", "PodInitializing":
		return nil, 0
	case "ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		if transient(waiting.Message) {
			return failure.New(failure.ImageRegistryBusy, detail), grace.ImagePull
		}
		return failure.New(failure.ImagePullBackOff, detail), grace.ImagePull
	case "PortTaken": // said by the local node
		return failure.New(failure.PortTaken, detail), portGrace
	case "InvalidImageName":
		return failure.New(failure.InvalidImageName, detail), 0
	case "ErrImageNeverPull":
		return failure.New(failure.ImageNeverPull, detail), 0
	case "CreateContainerConfigError":
		if unread(waiting.Message) {
			return failure.New(failure.ContainerStuck, detail), grace.Other
		}
		return failure.New(failure.CreateContainerConfig, detail), grace.Config
	case "CreateContainerError", "RunContainerError", "PostStartHookError":
		return failure.New(failure.CreateContainerError, detail), grace.Create
	default:
		return failure.New(failure.ContainerStuck, detail), grace.Other
	}
}

// unread reports whether a node could not read a Secret or ConfigMap, which may well exist.
func unread(message string) bool {
	return strings.Contains(message, "failed to sync ") || transient(message) // the first is what kubelets say
}

// transient reports whether a registry did not serve an image because of an error of its own or of the network.
// Runtimes report both in words only, so this is a list of their words, in lower case.
func transient(message string) bool {
	message = strings.ToLower(message)
	for _, sign := range []string{
		"429", "too many requests", "toomanyrequests", "i/o timeout", "tls handshake timeout", "connection refused", "connection reset",
		"context deadline exceeded", "unexpected eof", "server misbehaving", "500 internal server error", "502 bad gateway",
		"503 service unavailable", "504 gateway time",
	} {
		if strings.Contains(message, sign) {
			return true
		}
	}
	return false
}
