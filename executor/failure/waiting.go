package failure

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Grace says how long a container may wait for a reason before the attempt is given up.
type Grace struct {
	// ImagePull is for images that cannot be pulled.
	ImagePull time.Duration `mapstructure:"imagePull"`
	// Create is for containers that cannot be created.
	Create time.Duration `mapstructure:"create"`
	// Config is for containers whose secrets or config maps do not exist.
	Config time.Duration `mapstructure:"config"`
	// Other is for reasons that nobody knows.
	Other time.Duration `mapstructure:"other"`
}

// DefaultGrace lets registries and operators recover, and does not keep people waiting.
func DefaultGrace() Grace {
	return Grace{ImagePull: 3 * time.Minute, Create: 3 * time.Minute, Config: 30 * time.Second, Other: 5 * time.Minute}
}

// OfWaiting classifies a waiting container. A nil failure means that the container comes along normally. Otherwise the
// attempt is lost once the container has waited for the grace that is returned.
func OfWaiting(name string, waiting *corev1.ContainerStateWaiting, grace Grace) (*Failure, time.Duration) {
	detail := "container " + name + " waits with " + waiting.Reason
	if waiting.Message != "" {
		detail += ": " + waiting.Message
	}
	switch waiting.Reason {
	case "", "ContainerCreating", "PodInitializing":
		return nil, 0
	case "ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable":
		if hiccup(waiting.Message) {
			return New(ImageRegistryBusy, detail), grace.ImagePull
		}
		return New(ImagePullBackOff, detail), grace.ImagePull
	case "InvalidImageName":
		return New(InvalidImageName, detail), 0
	case "ErrImageNeverPull":
		return New(ImageNeverPull, detail), 0
	case "CreateContainerConfigError":
		return New(CreateContainerConfig, detail), grace.Config
	case "CreateContainerError", "RunContainerError":
		return New(CreateContainerError, detail), grace.Create
	default:
		return New(ContainerStuck, detail), grace.Other
	}
}

// hiccup tells that a registry did not serve an image for a reason of its own or of the network.
func hiccup(message string) bool {
	message = strings.ToLower(message)
	for _, sign := range []string{
		"429", "too many requests", "toomanyrequests", "i/o timeout", "tls handshake timeout", "connection refused", "connection reset",
		"context deadline exceeded", "unexpected eof", "no such host", "server misbehaving", "500 internal server error", "502 bad gateway",
		"503 service unavailable", "504 gateway time",
	} {
		if strings.Contains(message, sign) {
			return true
		}
	}
	return false
}
