package plugin

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Definition describes a plugin to the executor, which prepares scheme, cache and indexes before it connects to the
// cluster. Only Name and New are required.
type Definition struct {
	// Name selects the plugin in the configuration and in tasks.
	Name string
	// Types are the task types that the plugin is made for. Their tasks get the plugin wherever it is enabled, unless
	// executor.plugins.taskTypes names another one.
	Types []string
	// New creates the plugin. It is called again after a lost connection or lease; the new plugin remembers nothing.
	New func(Deps) (Plugin, error)
	// AddToScheme registers types that are not built into Kubernetes.
	AddToScheme func(*runtime.Scheme) error
	// Rights are what the plugin asks the API server for, in the namespaces of tasks. docs/plugins.md and the chart have
	// them, which a test compares.
	Rights []Right
	// Informers are the types that the plugin reads from the cache or watches, except Pods, which the executor always
	// caches. While the cluster does not serve one of them, the plugin is not created and its tasks wait; see Absent.
	Informers []Informer
	// Install says what an administrator has to install where the cluster lacks these types, such as "the KubeRay
	// operator". It is part of messages. Empty for types that every cluster has.
	Install string
	// Indexes are the fields by which the plugin lists cached objects.
	Indexes []Index
}

// Right is what may be done with one kind of object.
type Right struct {
	// Group is the API group; empty for the core group.
	Group string
	// Resource is the name of the kind in URLs, such as pods or pods/log.
	Resource string
	Verbs    []string
}

// Informer says how a type is cached. Only objects with the labels of this installation are.
type Informer struct {
	// Object is an empty object of the type.
	Object client.Object
	// Strip removes what the plugin does not read, to save memory. Nil keeps everything.
	Strip toolscache.TransformFunc
}

// Index lets the plugin list cached objects by a field in constant time.
type Index struct {
	// Object is an empty object of the type.
	Object client.Object
	// Field is a name for client.MatchingFields.
	Field string
	// Values are the values of an object.
	Values client.IndexerFunc
}

// Deps are what plugins get from the executor.
type Deps struct {
	// Cache reads from informers. Objects are shared and must not be changed.
	Cache client.Reader
	// Seen tells how far the cache is; nil if no one knows.
	Seen Seen
	// Live reads from the API server.
	Live client.Reader
	// Writer creates and deletes objects.
	Writer client.Writer
	// Store reads inputs and what earlier attempts wrote.
	Store Store
	// Secrets reads the values of secrets; nil means that there are none.
	Secrets Secrets
	// Tokens issues the tokens by which tasks call the server; nil means that they need none.
	Tokens Tokens
	// Installation is the id of this installation, whose objects alone count; empty means that all do.
	Installation string
	// Namespaces are those that the executor may look into; empty means all.
	Namespaces []string
	// Clock tells the time.
	Clock clock.Clock
}

// Seen reports whether the cache of an object's type has seen all changes up to a resource version; known is false if it cannot tell.
type Seen func(object client.Object, version string) (seen, known bool)

// Secrets reads the values of the secrets that tasks ask for; the client of SecretValueService does.
type Secrets interface {
	GetSecretValues(ctx context.Context, request *enginev1.GetSecretValuesRequest) (*enginev1.GetSecretValuesResponse, error)
}

// Tokens issues tokens of tasks; the client of TaskTokenService does.
type Tokens interface {
	IssueTaskToken(ctx context.Context, request *enginev1.IssueTaskTokenRequest) (*enginev1.IssueTaskTokenResponse, error)
}

// Store reads the object store. Its errors are those of blobstore.
type Store interface {
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
	Stat(ctx context.Context, uri string) (blobstore.Info, error)
}
