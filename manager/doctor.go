package manager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/clusters/links"
	"github.com/flyte-binary/flyte-binary/clusters/store"
	"github.com/flyte-binary/flyte-binary/connectors"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/certfiles"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
	"github.com/flyte-binary/flyte-binary/manager/system"
)

// Finding is the result of one check.
type Finding struct {
	// What names the thing that was checked.
	What string
	// Detail describes it if the check succeeded.
	Detail string
	// Err is the problem; nil if there is none.
	Err error
	// Fix says how to solve the problem.
	Fix string
}

// examineTimeout bounds one check.
const examineTimeout = 10 * time.Second

// fixClusterFirst is the advice for checks that fail because the API server does.
const fixClusterFirst = "fix the API server check above"

// Examine checks everything that a process with the configured target depends on. With the API that is the database and
// its schema, the clusters that the configuration names, and the connectors; with a controller, the API server, the TaskAction CRD, the types of plugins and what the routes of apps need, and the API if that runs
// elsewhere; with any, the object store, by writing and reading an object, which it deletes, and the names of the hosts of
// apps. given is the connection to the cluster; nil means the configured one.
func Examine(ctx context.Context, c configuration.Config, given *rest.Config) []Finding {
	var findings []Finding
	if c.Target.API() {
		findings = append(findings, examineDatabase(ctx, c.Database))
		if findings[0].Err == nil {
			findings = append(findings, examineClusters(ctx, c)...)
		}
		findings = append(findings, examineConnectors(ctx, c.Connectors)...)
	} else {
		findings = append(findings, examineControlPlane(ctx, c)...)
	}
	if c.Target.Controller() {
		findings = append(findings, examineKubernetes(ctx, c, given)...)
	}
	findings = append(findings, examineStorage(ctx, c.Storage, c.Health)...)
	return append(findings, examineHosts(ctx, c, net.DefaultResolver)...)
}

// examineConnectors asks each connector what it serves.
func examineConnectors(ctx context.Context, c connectors.Config) []Finding {
	all, err := connectors.Examine(ctx, c, examineTimeout)
	if err != nil {
		return []Finding{{What: "connectors", Err: err, Fix: "correct connectors.endpoints"}}
	}
	var findings []Finding
	for _, one := range all {
		f := Finding{What: "connector " + one.Name, Detail: one.URL + " serves " + strings.Join(one.Types, ", ")}
		switch {
		case one.Problem != "":
			f.Err, f.Fix = errors.New(one.Problem), "start the connector, or correct its entry in connectors.endpoints; its tasks wait meanwhile"
		case len(one.Types) == 0:
			f.Err, f.Fix = errors.New("it serves no type of task"), "start it with the modules of its connectors (c0 --modules)"
		}
		findings = append(findings, f)
	}
	return findings
}

func examineKubernetes(ctx context.Context, c configuration.Config, given *rest.Config) []Finding {
	cluster, err := restConfig(c.Kubernetes, given, nil, clock.System{}, zerolog.Nop())
	if err != nil {
		return []Finding{Finding{What: "API server"}.failed(err)}
	}
	findings := []Finding{examineCluster(ctx, cluster), examineDefinition(ctx, cluster, c.Executor.InstallCRD)}
	if findings[0].Err == nil {
		findings = append(findings, examineRights(ctx, cluster, c))
	}
	findings = append(findings, examinePlugins(ctx, cluster, c.Executor.Service())...)
	findings = append(findings, examineUsage(ctx, cluster, c.Executor.Service())...)
	return append(findings, examineRoutes(ctx, cluster, c.Deployer.Route)...)
}

// maxClockSkew is how far the clocks of a controller and the API may be apart. Tokens and signatures of object stores allow some minutes;
// times of attempts are wrong by as much.
const maxClockSkew = 30 * time.Second

// examineControlPlane asks the API for assignments that do not exist, as a controller would: the answer shows that the address and the
// credential are right. Then it asks for a link.
func examineControlPlane(ctx context.Context, c configuration.Config) []Finding {
	f := Finding{What: "control plane", Detail: c.ControlPlane.URL}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	p, closing, err := dialControlPlane(c)
	if err != nil {
		f.Err, f.Fix = err, "check the files of auth.tls"
		return []Finding{f}
	}
	defer closing()
	if p.credential != nil {
		if _, err := p.credential.Secret(); err != nil {
			f.Err, f.Fix = err, "write what flyte-binary clusters issue "+c.Cluster.ID+" prints into controlPlane.credentialFile"
			return []Finding{f}
		}
	}
	if _, err = p.engine().GetAssignments(ctx, &enginev1.GetAssignmentsRequest{Uids: []int64{0}, Cluster: c.Cluster.ID}); err != nil {
		f.Err, f.Fix = err, controlPlaneFix(c, err)
		return []Finding{f}
	}
	return append([]Finding{f}, examineLink(ctx, p, c.Cluster.ID)...)
}

// dialControlPlane returns the clients of a controller.
func dialControlPlane(c configuration.Config) (p peers, closing func(), err error) {
	certificates, err := certfiles.NewMutual(c.Auth.TLS.Files(), clock.System{}, zerolog.Nop())
	if err != nil {
		return peers{}, nil, err //nolint:wrapcheck // it names the file
	}
	p = newPeers(c, certificates, nil)
	return p, p.network.CloseIdleConnections, nil
}

// controlPlaneFix says what to do about a call to the API that failed.
func controlPlaneFix(c configuration.Config, err error) string {
	switch code := connect.CodeOf(err); {
	case code == connect.CodeUnauthenticated:
		return "issue a credential with flyte-binary clusters issue " + c.Cluster.ID + ", and set controlPlane.credential or its file"
	case code == connect.CodePermissionDenied && c.ControlPlane.HasCredential():
		return "set cluster.id to the cluster of the credential in controlPlane"
	case code == connect.CodePermissionDenied:
		return "set auth.internalToken to the same value as for the API, and auth.tls to a certificate of its auth.tls.caFile"
	}
	return diagnose.AddressFix(c.ControlPlane.URL, err)
}

// examineLink sends a beat of a link that does not exist: the refusal shows that the API has links, and has its clock.
func examineLink(ctx context.Context, p peers, cluster string) []Finding {
	f := Finding{What: "link", Detail: "the API accepts links of cluster " + cluster}
	asked := time.Now()
	header, _, err := askLink(ctx, p, cluster)
	switch connect.CodeOf(err) {
	case connect.CodeFailedPrecondition: // there is no such link, as expected
		return append([]Finding{f}, examineClock(header, asked, time.Now())...)
	case connect.CodeUnimplemented:
		f.Err, f.Fix = errors.New("the API is of a version without links"), "upgrade the API first; logs of running pods are read at clusters[].url meanwhile"
	default:
		f.Err, f.Fix = err, "see the log of the API"
	}
	return []Finding{f}
}

// askLink sends a beat of a link that does not exist, and returns the headers of the answer, and the version of the API if it says so.
func askLink(ctx context.Context, p peers, cluster string) (header http.Header, version string, err error) {
	_, err = p.clusterLink().Beat(ctx, &clustersv1.BeatRequest{Cluster: cluster, Instance: "doctor", Link: "doctor"})
	var answer *connect.Error
	if !errors.As(err, &answer) {
		return http.Header{}, "", err
	}
	for _, detail := range answer.Details() {
		if value, wrong := detail.Value(); wrong == nil {
			if welcome, is := value.(*clustersv1.Welcome); is {
				version = welcome.GetVersion()
			}
		}
	}
	return answer.Meta(), version, err
}

// examineClock compares the clock of this machine with that of the API, which answered between two times.
func examineClock(header http.Header, before, after time.Time) []Finding {
	theirs, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return nil // a proxy left it out
	}
	f := Finding{What: "clock", Detail: "within " + maxClockSkew.String() + " of that of the API"}
	theirs = theirs.Add(500 * time.Millisecond) // it has whole seconds
	apart, word := time.Duration(0), ""
	switch {
	case theirs.Before(before):
		apart, word = before.Sub(theirs), "ahead of"
	case theirs.After(after):
		apart, word = theirs.Sub(after), "behind"
	}
	if apart > maxClockSkew {
		f.Err = fmt.Errorf("the clock of this machine is %s %s that of the API", apart.Round(time.Second), word)
		f.Fix = "synchronize the clocks of the nodes with NTP: times of attempts, tokens and signatures of the object store depend on them"
	}
	return []Finding{f}
}

// ExamineVersion checks that a controller of a version works with its API; it finds nothing for other targets, or if the API does not
// answer.
func ExamineVersion(ctx context.Context, c configuration.Config, version string) []Finding {
	if c.Target.API() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	p, closing, err := dialControlPlane(c)
	if err != nil {
		return nil // examineControlPlane says so
	}
	defer closing()
	_, theirs, _ := askLink(ctx, p, c.Cluster.ID) // as above
	if theirs == "" {
		return nil
	}
	f := Finding{What: "version", Detail: fmt.Sprintf("%s works with the API's %s", version, theirs)}
	if !links.Compatible(version, theirs) {
		f.Err = fmt.Errorf("this program is of version %s, and the API of version %s: they work together if they are at most one minor version apart", version, theirs)
		f.Fix = "bring the older one to the version before the newer one first; until then the API refuses the link of this controller"
	}
	return []Finding{f}
}

// failed is a finding with the explanation of an error.
func (f Finding) failed(err error) Finding {
	f.Err = err
	var known *diagnose.Failure
	if errors.As(err, &known) {
		f.Err, f.Fix = errors.New(known.Problem()), known.Fix
	}
	return f
}

func examineDatabase(ctx context.Context, config pgdb.Config) Finding {
	f := Finding{What: "database"}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	pool, err := pgdb.Open(ctx, config)
	if err != nil {
		return f.failed(diagnose.Database(config, err))
	}
	defer pool.Close()
	if err := pool.QueryRow(ctx, "SELECT 'Postgres ' || current_setting('server_version')").Scan(&f.Detail); err != nil {
		return f.failed(diagnose.Database(config, err))
	}
	if err := pgdb.CheckSchema(ctx, pool, Schemas()...); err != nil {
		return f.failed(diagnose.Schema(config, err))
	}
	f.Detail += ", schema current"
	return f
}

func examineCluster(ctx context.Context, cluster *rest.Config) Finding {
	f := Finding{What: "API server"}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	version, err := system.ServerVersion(ctx, cluster)
	if err != nil {
		return f.failed(diagnose.Cluster(cluster.Host, "get the version", err))
	}
	f.Detail = fmt.Sprintf("Kubernetes %s at %s", version, cluster.Host)
	return f
}

func examineDefinition(ctx context.Context, cluster *rest.Config, installs bool) Finding {
	f := Finding{What: "TaskAction definition", Fix: diagnose.DefinitionFix(installs)}
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
		f.Err = errors.New("not installed")
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return f.failed(diagnose.Cluster(cluster.Host, "get customresourcedefinitions", err))
	case err != nil:
		f = f.failed(diagnose.Cluster(cluster.Host, "get customresourcedefinitions", err))
		f.Fix = fixClusterFirst
	case !sameDefinition(found.Annotations, wanted.Annotations):
		f.Err = errors.New("installed in another version")
	default:
		f.Detail = wanted.Name + " is installed and current"
	}
	return f
}

// sameDefinition compares the digest annotation of two definitions.
func sameDefinition(found, wanted map[string]string) bool {
	for name, digest := range wanted {
		if found[name] != digest {
			return false
		}
	}
	return true
}

func examineStorage(ctx context.Context, config blobstore.Config, health configuration.HealthConfig) []Finding {
	opening, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	blobs, err := blobstore.Open(opening, config)
	if err != nil {
		return []Finding{Finding{What: "storage"}.failed(diagnose.Storage(config, err))}
	}
	defer blobs.Close() //nolint:errcheck // nothing is pending
	var findings []Finding
	for _, root := range blobs.Roots() {
		findings = append(findings, examineRoot(ctx, config, blobs, root))
	}
	ctx, cancel = context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	free, known, err := blobs.FreeBytes(ctx)
	if err == nil && !known {
		return findings
	}
	disk := Finding{
		What: "disk", Detail: fmt.Sprintf("%d MiB are free below %s", free>>20, blobs.Root()),
		Err: disk(health, blobs.FreeBytes)(ctx), Fix: "free space on the disk of storage.url, or enable runs.retention",
	}
	return append(findings, disk)
}

// examineRoot writes, reads and deletes an object below storage.url or one of storage.extraPrefixes.
func examineRoot(ctx context.Context, config blobstore.Config, blobs *blobstore.Store, root string) Finding {
	f := Finding{What: "storage", Detail: "wrote, read and deleted an object below " + root}
	if root != blobs.Root() {
		f.What += " " + root
	}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	if err := blobs.CheckRoot(ctx, root); err != nil {
		config.URL = root
		f = f.failed(diagnose.Storage(config, err))
		if root != blobs.Root() {
			f.Fix = strings.ReplaceAll(f.Fix, "storage.url", "storage.extraPrefixes")
		}
	}
	return f
}

// mostClusters bounds what is read of the registry.
const mostClusters = 10_000

// examineClusters looks for names of clusters in the configuration that are in no registry: what a setting sends to such a cluster waits
// forever. Nothing is said where no setting names one.
func examineClusters(ctx context.Context, c configuration.Config) []Finding {
	named := c.NamedClusters()
	if c.Target.Controller() {
		delete(named, c.Cluster.ID) // it registers itself
	}
	if len(named) == 0 {
		return nil
	}
	f := Finding{What: "clusters"}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	pool, err := pgdb.Open(ctx, c.Database)
	if err != nil {
		return []Finding{f.failed(diagnose.Database(c.Database, err))}
	}
	defer pool.Close()
	found, err := store.New(pool).List(ctx, "", mostClusters, time.Now())
	if err != nil {
		return []Finding{f.failed(diagnose.Database(c.Database, err))}
	}
	for _, one := range found {
		delete(named, one.Name)
	}
	if len(named) == 0 {
		f.Detail = "all clusters that the configuration names are registered"
		return []Finding{f}
	}
	var findings []Finding
	for _, name := range slices.Sorted(maps.Keys(named)) {
		findings = append(findings, Finding{
			What: "cluster " + name, Err: fmt.Errorf("it is not registered, and named in %s", strings.Join(named[name], " and ")),
			Fix: "register it with flyte-binary clusters add " + name + ", or correct the name; what is sent there waits meanwhile",
		})
	}
	return findings
}
