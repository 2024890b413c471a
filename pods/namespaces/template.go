package namespaces

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// Template is a namespace with places for the names of a run.
type Template string

const (
	projectPlace = "{{project}}"
	domainPlace  = "{{domain}}"

	// Default gives each project and domain a namespace.
	Default = projectPlace + "-" + domainPlace

	maxNamespace = 63
	// hashDigits is the length of the hash that distinguishes names which would otherwise be equal.
	hashDigits = 8
	// reservedPrefix begins the names of Kubernetes' own namespaces, where no task may run.
	reservedPrefix = "kube-"
)

var (
	foreign    = regexp.MustCompile(`[^a-z0-9-]`)
	hashSuffix = regexp.MustCompile(`-[0-9a-f]{8}$`)
)

// Parse reads a template. It refuses one that can never be the name of a namespace.
func Parse(text string) (Template, error) {
	t := Template(strings.ReplaceAll(text, " ", ""))
	if t == "" {
		return "", fmt.Errorf("is required")
	}
	name := t.render("p", "d")
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return "", fmt.Errorf("%q is not the name of a namespace: %s", name, strings.Join(problems, "; "))
	}
	return t, nil
}

// Fixed reports whether the namespace is the same for all runs.
func (t Template) Fixed() bool { return !t.has(projectPlace) && !t.has(domainPlace) }

func (t Template) has(place string) bool { return strings.Contains(string(t), place) }

func (t Template) render(project, domain string) string {
	return strings.NewReplacer(projectPlace, project, domainPlace, domain).Replace(string(t))
}

// Namespace is the namespace of the pods of a project and domain. Different projects and domains, as far as the template names them, have
// different ones: where letters had to be replaced, where the name is too long, and where the same name could be put
// together from other parts, it ends with a hash of the names. Namespaces of Kubernetes itself are an error.
func (t Template) Namespace(run ident.Run) (string, error) {
	name := t.render(run.Project, run.Domain)
	if t.Fixed() {
		return name, nil
	}
	clean := strings.Trim(foreign.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if clean != name || len(name) > maxNamespace || hashSuffix.MatchString(name) || t.ambiguous(run) {
		clean = clean[:min(len(clean), maxNamespace-1-hashDigits)]
		clean = strings.Trim(strings.Trim(clean, "-")+"-"+t.hash(run), "-")
	}
	if strings.HasPrefix(clean, reservedPrefix) {
		return "", fmt.Errorf("namespace %s belongs to Kubernetes, which no task may run in; the project needs another name", clean)
	}
	return clean, nil
}

func (t Template) hash(run ident.Run) string {
	var project, domain string
	if t.has(projectPlace) {
		project = run.Project
	}
	if t.has(domainPlace) {
		domain = run.Domain
	}
	sum := sha256.Sum256([]byte(project + "\x00" + domain))
	return hex.EncodeToString(sum[:])[:hashDigits]
}

// ambiguous reports whether another project and domain could have the same name: with {{project}}-{{domain}}, a-b and
// c have the same name as a and b-c. The one whose domain contains the separator gets the hash, since domains rarely
// do and projects often.
func (t Template) ambiguous(run ident.Run) bool {
	project, domain := strings.Index(string(t), projectPlace), strings.Index(string(t), domainPlace)
	if project < 0 || domain < 0 {
		return false
	}
	if strings.Count(string(t), projectPlace) > 1 || strings.Count(string(t), domainPlace) > 1 {
		return true
	}
	if project < domain {
		between := string(t)[project+len(projectPlace) : domain]
		return between == "" || strings.LastIndex(between+run.Domain, between) != 0
	}
	between := string(t)[domain+len(domainPlace) : project]
	return between == "" || strings.Index(run.Domain+between, between) != len(run.Domain)
}

// Place is the namespace of the pods of a project and domain, with what it must be to be theirs.
func (t Template) Place(run ident.Run) (Place, error) {
	name, err := t.Namespace(run)
	if err != nil {
		return Place{}, err
	}
	return Place{Namespace: name, Labels: t.labels(run), Configured: t.Fixed()}, nil
}

// labels are those of a namespace for a run: the mark, and for whom it is.
func (t Template) labels(run ident.Run) map[string]string {
	labels := map[string]string{v1.LabelManaged: v1.ManagedValue}
	if t.has(projectPlace) {
		labels[v1.LabelProject] = v1.LabelValue(run.Project)
	}
	if t.has(domainPlace) {
		labels[v1.LabelDomain] = v1.LabelValue(run.Domain)
	}
	return labels
}
