package deployer

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
)

// Labels of the objects of apps, in addition to those of the installation.
const (
	labelApp      = v1.Group + "/app"
	labelUID      = v1.Group + "/app-uid"
	labelRevision = v1.Group + "/app-revision"
)

// Annotations of Deployments and pods.
const (
	// annotationID names the app, as project/domain/name: labels may be cut.
	annotationID = v1.Group + "/app-id"
	// annotationBuild is the digest of the pod template, before the API server completed it.
	annotationBuild = v1.Group + "/app-build"
	// annotationSecrets says that Kubernetes Secrets were written for the revision.
	annotationSecrets = v1.Group + "/app-secrets"
	// annotationPort is the port on which a replica accepts requests.
	annotationPort = v1.Group + "/app-port"
	// annotationTakesPort asks the local node for a free port for the container that it names. The node answers with
	// annotationNodePort. Other nodes know neither.
	annotationTakesPort = "node." + v1.Group + "/takes-port"
	annotationNodePort  = "node." + v1.Group + "/port"
)

// primary is the name of the container that serves; the contract fixes it for apps that bring a pod.
const primary = "app"

const (
	maxName  = 63
	hashSize = 8
)

// serviceName is that of the Service and the route of an app.
func serviceName(desired *enginev1.DesiredApp) string { return objectName(desired, "") }

// deploymentName is that of the Deployment of a revision, and begins those of its Secrets and pods.
func deploymentName(desired *enginev1.DesiredApp, revision uint64) string {
	return objectName(desired, "-"+strconv.FormatUint(revision, 10))
}

// objectName is a DNS label that begins with a letter. The hash covers the uid, so that one namespace can have the apps of all
// projects, and a repeated name gets new objects.
func objectName(desired *enginev1.DesiredApp, suffix string) string {
	sum := sha256.Sum256([]byte(desired.GetUid()))
	end := "-" + hex.EncodeToString(sum[:])[:hashSize] + suffix
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(desired.GetId().GetName()))
	begin := "app-" + name
	return strings.TrimRight(begin[:min(len(begin), maxName-len(end))], "-") + end
}

// identity are the labels that an object of an app has.
func identity(desired *enginev1.DesiredApp, installation string) map[string]string {
	labels := map[string]string{
		v1.LabelManaged: v1.ManagedValue,
		v1.LabelProject: v1.LabelValue(desired.GetId().GetProject()),
		v1.LabelDomain:  v1.LabelValue(desired.GetId().GetDomain()),
		labelApp:        v1.LabelValue(desired.GetId().GetName()),
		labelUID:        v1.LabelValue(desired.GetUid()),
	}
	if installation != "" {
		labels[v1.LabelInstallation] = installation
	}
	return labels
}

// selector are the labels of the pods of a revision.
func selector(desired *enginev1.DesiredApp, revision uint64) map[string]string {
	return map[string]string{labelUID: v1.LabelValue(desired.GetUid()), labelRevision: strconv.FormatUint(revision, 10)}
}

// revisionOf is the revision to which an object belongs; 0 for none.
func revisionOf(labels map[string]string) uint64 {
	number, err := strconv.ParseUint(labels[labelRevision], 10, 64)
	if err != nil {
		return 0
	}
	return number
}

func idText(id *app.Identifier) string {
	return id.GetProject() + "/" + id.GetDomain() + "/" + id.GetName()
}

// projectOf splits what idText joined.
func projectOf(text string) (project, domain string, ok bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return "", "", false
	}
	return parts[0], parts[1], true
}
