package plugin

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Watcher is a plugin with objects of its own in the cluster. Their changes trigger a reconcile of the TaskAction.
type Watcher interface {
	Watches() []Watch
}

// Watch names a type of object and how an object leads to its TaskAction.
type Watch struct {
	// Object is an empty object of the type. Its informer is either one of the Definition's or that of Pods.
	Object client.Object
	// TaskAction returns the TaskAction of an object; false when it has none. Nil means that the TaskAction is the
	// controlling owner.
	TaskAction func(client.Object) (types.NamespacedName, bool)
}

// Logged is a plugin whose containers have logs in the cluster, which are copied to the object store when the attempt
// ends.
type Logged interface {
	// Logs lists the logs of the attempt that can be read now.
	Logs(ctx context.Context, attempt *Attempt) ([]Log, error)
}

// Log is the log of one container.
type Log struct {
	Namespace, Pod, Container string
	// Member tells the pods of an attempt apart in the object store: the name of the pod, or empty for the primary pod.
	Member string
	// Follow reads until the container ends.
	Follow bool
	// Previous reads the log of the run before the current one.
	Previous bool
}

// Runner is a plugin that has work besides the attempts, such as to end what several of them share. One process does it at a time.
type Runner interface {
	// Run works until the context ends.
	Run(ctx context.Context) error
}

// Rememberer is a plugin that keeps state in memory for live attempts, which a leak test can count.
type Rememberer interface {
	// Live is how many attempts the plugin remembers.
	Live() int
}
