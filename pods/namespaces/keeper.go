package namespaces

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// labelPodSecurity is the label by which the API server itself keeps pods to a level of the Pod Security Standards.
const labelPodSecurity = "pod-security.kubernetes.io/enforce"

// markAge is how long the mark of a namespace is trusted after it was read.
const markAge = time.Minute

// Config says what a keeper may do.
type Config struct {
	// Create creates namespaces that do not exist.
	Create bool
	// PodSecurity is the level of the Pod Security Standards of created ones; empty for none.
	PodSecurity string
	// Own is the namespace of the server itself; empty for none.
	Own string
}

// Keeper creates namespaces for pods, and keeps pods out of those that are not for them.
type Keeper struct {
	config Config
	client client.Client
	clock  clock.Clock

	mu    sync.Mutex
	ready map[string]time.Time // GUARDED_BY(mu): when a namespace was found to be for tasks
}

// New returns a keeper. The client must know the kind Namespace.
func New(config Config, c client.Client, clk clock.Clock) *Keeper {
	return &Keeper{config: config, client: c, clock: clk, ready: map[string]time.Time{}}
}

// Creates reports whether namespaces that do not exist are created.
func (n *Keeper) Creates() bool { return n.config.Create }

// Place is where objects go.
type Place struct {
	Namespace string
	// Labels that a namespace for these objects has: the mark, its project and its domain.
	Labels map[string]string
	// Configured means that the operator named this very namespace. It needs no mark.
	Configured bool
}

// Codes of errors that a person must remove.
const (
	// CodeMissing is that of a namespace that does not exist and is not created.
	CodeMissing = "NamespaceMissing"
	// CodeNotOurs is that of a namespace that is not for tasks.
	CodeNotOurs = "NamespaceNotOurs"
)

// Error is that a namespace cannot be used, which does not change by itself.
type Error struct {
	Code string
	err  error
}

// Error implements error.
func (e *Error) Error() string { return e.err.Error() }

// Unwrap makes the cause visible.
func (e *Error) Unwrap() error { return e.err }

func missing(name string, because error) error {
	return &Error{CodeMissing, fmt.Errorf("namespace %s does not exist, and it is not created: %w; "+
		"the operator of this installation must create the namespace or allow its creation", name, because)}
}

func notOurs(format string, args ...any) error {
	return &Error{CodeNotOurs, fmt.Errorf(format, args...)}
}

var errNotCreated = errors.New("actions.taskActions.createNamespaces is off")

// Ensure returns nil for a namespace that exists and is for the action, and creates it if required. A *Error says
// why it is not.
func (n *Keeper) Ensure(ctx context.Context, p Place) error {
	if p.Namespace == n.config.Own && !p.Configured {
		return notOurs("namespace %s is the server's own, where no task may run; the project needs another name", p.Namespace)
	}
	n.mu.Lock()
	read, known := n.ready[p.Namespace]
	n.mu.Unlock()
	if age := n.clock.Now().Sub(read); known && age >= 0 && age < markAge {
		return nil
	}
	err := n.look(ctx, p)
	if apierrors.IsNotFound(err) {
		if err = n.make(ctx, p); apierrors.IsAlreadyExists(err) {
			err = n.look(ctx, p) // someone else was faster
		}
	}
	if err != nil {
		var refused *Error
		if errors.As(err, &refused) {
			return err
		}
		return fmt.Errorf("ensure namespace %s: %w", p.Namespace, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ready[p.Namespace] = n.clock.Now()
	return nil
}

// look checks a namespace that exists.
func (n *Keeper) look(ctx context.Context, p Place) error {
	var found corev1.Namespace
	err := n.client.Get(ctx, client.ObjectKey{Name: p.Namespace}, &found)
	switch {
	case p.Configured && apierrors.IsForbidden(err):
		return nil // Without the right to read namespaces, work in this one may still be allowed.
	case apierrors.IsForbidden(err):
		return notOurs("no permission to read namespace %s, so whether it is for tasks cannot be checked; "+
			"the operator of this installation must allow the controller to get namespaces: %w", p.Namespace, err)
	case err != nil || p.Configured:
		return err
	case found.Labels[v1.LabelManaged] != v1.ManagedValue:
		return notOurs("namespace %s exists and is not marked as one for tasks; if it is, the operator of this installation must mark it: "+
			"kubectl label namespace %s %s=%s", p.Namespace, p.Namespace, v1.LabelManaged, v1.ManagedValue)
	}
	for _, label := range []string{v1.LabelProject, v1.LabelDomain} {
		if owner := found.Labels[label]; owner != "" && owner != p.Labels[label] {
			return notOurs("namespace %s is for other tasks: its label %s is %q, not %q", p.Namespace, label, owner, p.Labels[label])
		}
	}
	return nil
}

// make creates a namespace.
func (n *Keeper) make(ctx context.Context, p Place) error {
	if !n.config.Create {
		return missing(p.Namespace, errNotCreated)
	}
	created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.Namespace, Labels: p.Labels}}
	if n.config.PodSecurity != "" {
		created.Labels[labelPodSecurity] = n.config.PodSecurity
	}
	err := n.client.Create(ctx, created)
	if apierrors.IsForbidden(err) {
		return missing(p.Namespace, err)
	}
	return err
}

// Forget makes Ensure look again.
func (n *Keeper) Forget(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.ready, name)
}

// NotCreated is the error of a namespace that vanished, or never existed, where none may be created.
func NotCreated(name string) error { return missing(name, errNotCreated) }
