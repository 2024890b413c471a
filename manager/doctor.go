package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/pgdb"
)

// Finding is what the doctor found out about one thing.
type Finding struct {
	// What was examined.
	What string
	// Detail tells what is there, when it is well.
	Detail string
	// Err is what is wrong; nil when it is well.
	Err error
	// Mend says what to do about it.
	Mend string
}

// examineTimeout bounds one examination.
const examineTimeout = 10 * time.Second

// Examine looks at everything that the process stands on, and changes nothing: database and schema, API server and
// definition of TaskActions, storage by writing and reading. given reaches the cluster; nil means the configuration's.
func Examine(ctx context.Context, c Config, given *rest.Config) []Finding {
	findings := []Finding{examineDatabase(ctx, c.Database)}
	cluster, err := c.Kubernetes.rest(given, clock.System{}, zerolog.Nop())
	if err != nil {
		findings = append(findings, Finding{
			What: "API server", Err: err, Mend: "set kubernetes.kubeconfig to a kubeconfig file",
		})
	} else {
		findings = append(findings, examineCluster(ctx, cluster), examineDefinition(ctx, cluster, c.Executor.InstallCRD))
	}
	return append(findings, examineStorage(ctx, c.Storage))
}

func examineDatabase(ctx context.Context, config pgdb.Config) Finding {
	f := Finding{What: "database"}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	pool, err := pgdb.Open(ctx, config)
	if err != nil {
		f.Err, f.Mend = err, "check database.url, and that the server runs and lets this machine in"
		return f
	}
	defer pool.Close()
	if err := pool.QueryRow(ctx, "SELECT 'Postgres ' || current_setting('server_version')").Scan(&f.Detail); err != nil {
		f.Err, f.Mend = err, "look into the log of the database"
		return f
	}
	if err := pgdb.CheckSchema(ctx, pool, Schemas()...); err != nil {
		f.Err, f.Mend = err, "run `flyte-binary migrate up`"
		if config.Migrate {
			f.Mend += ", or start the server, which does so since database.migrate is on"
		}
		return f
	}
	f.Detail += ", schema current"
	return f
}

func examineCluster(ctx context.Context, cluster *rest.Config) Finding {
	f := Finding{What: "API server", Mend: "check kubernetes.kubeconfig, and that the API server runs and is reachable from here"}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	version, err := serverVersion(ctx, cluster)
	if err != nil {
		f.Err = err
		return f
	}
	f.Detail = fmt.Sprintf("Kubernetes %s at %s", version, cluster.Host)
	return f
}

func examineDefinition(ctx context.Context, cluster *rest.Config, installs bool) Finding {
	f := Finding{What: "TaskAction definition", Mend: "apply executor/api/v1/crds/flyte.org_taskactions.yaml"}
	if installs {
		f.Mend = "start the server, which installs it since executor.installCrd is on"
	}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	wanted, err := v1.CRD()
	if err != nil {
		f.Err = err
		return f
	}
	client, err := apiextensions.NewForConfig(cluster)
	if err != nil {
		f.Err = err
		return f
	}
	found, err := client.CustomResourceDefinitions().Get(ctx, wanted.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		f.Err = errors.New("is not installed")
	case apierrors.IsForbidden(err):
		f.Err, f.Mend = err, "allow this account to get customresourcedefinitions"
	case err != nil:
		f.Err, f.Mend = err, "see above"
	case !sameDefinition(found.Annotations, wanted.Annotations):
		f.Err = errors.New("is of another version")
	default:
		f.Detail = wanted.Name + " is installed and current"
	}
	return f
}

// sameDefinition compares the digests that every installed definition carries.
func sameDefinition(found, wanted map[string]string) bool {
	for name, digest := range wanted {
		if found[name] != digest {
			return false
		}
	}
	return true
}

func examineStorage(ctx context.Context, config blobstore.Config) Finding {
	f := Finding{What: "storage", Mend: "check storage.url and the credentials, and that this process may write there"}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	blobs, err := blobstore.Open(ctx, config)
	if err != nil {
		f.Err = err
		return f
	}
	defer blobs.Close() //nolint:errcheck // nothing is pending
	if err := blobs.Check(ctx); err != nil {
		f.Err = err
		return f
	}
	f.Detail = "wrote, read and deleted an object below " + blobs.Root()
	return f
}
