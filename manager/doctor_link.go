package manager

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/clusters/links"
	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/certfiles"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

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
	switch connect.CodeOf(err) {
	case connect.CodeUnauthenticated:
		return "issue a credential with flyte-binary clusters issue " + c.Cluster.ID + ", and set controlPlane.credential or its file"
	case connect.CodePermissionDenied:
		if c.ControlPlane.HasCredential() {
			return "set cluster.id to the cluster of the credential in controlPlane"
		}
		return "set auth.internalToken to the same value as for the API, and auth.tls to a certificate of its auth.tls.caFile"
	}
	return addressFix(c.ControlPlane.URL, err)
}

// addressFix says what to do about an address that does not answer as the API does.
func addressFix(address string, err error) string {
	host := address
	if parsed, wrong := url.Parse(address); wrong == nil {
		host = parsed.Host
	}
	var name *net.DNSError
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &name):
		return "correct the host in controlPlane.url: no name server of this cluster knows " + name.Name
	case errors.Is(err, syscall.ECONNREFUSED):
		return "correct the port in controlPlane.url, or start the API or its proxy: nothing listens at " + host
	case errors.As(err, &authority):
		return "add the authority of the certificate of " + host + " to the image, or to the file that SSL_CERT_FILE names"
	case errors.As(err, &hostname):
		return "use a host in controlPlane.url that is in the certificate of the API or of its proxy"
	case errors.As(err, &invalid):
		return "renew the certificate of " + host + ", or set the clock of this machine"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), connect.CodeOf(err) == connect.CodeDeadlineExceeded:
		return "allow connections from this cluster to " + host + ": network policies, firewalls and routes between may drop them"
	case connect.CodeOf(err) == connect.CodeUnimplemented, connect.CodeOf(err) == connect.CodeUnknown:
		return "something else than the API answers at " + host + ": check controlPlane.url, and that its proxy passes all paths and HTTP/2"
	default:
		return "check controlPlane.url, and that a process with target api or all listens there"
	}
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
	_, theirs, _ := askLink(ctx, p, c.Cluster.ID) //nolint:errcheck // as above
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
