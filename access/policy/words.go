package policy

import (
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// words is a resource in a message for people: a resource without a name is all of its kind in its place.
func words(resource authz.Resource) string {
	place := placeWords(resource.Project, resource.Domain)
	if resource.Name != "" || place == "" {
		return strings.ReplaceAll(resource.String(), "//", "/")
	}
	switch resource.Kind {
	case "", "domain", "place", "project":
		return strings.TrimSuffix(resource.String(), "/")
	default:
		return resource.Kind + " in " + place
	}
}

// placeWords is a place such as p, p/d or /d.
func placeWords(project, domain string) string {
	return strings.TrimSuffix(project+"/"+domain, "/")
}

// namedPlaces bounds how many places a refusal names.
const namedPlaces = 3

// elsewhere says where a caller may do what it may not do in a wider place, such as for a secret without a project, which is one of every
// project.
func (r *reach) elsewhere(place authz.Place) string {
	if place != (authz.Place{}) || len(r.scope.Places) == 0 {
		return ""
	}
	var names []string
	for _, one := range r.scope.Places {
		names = append(names, placeWords(one.Project, one.Domain))
	}
	more := ""
	if len(names) > namedPlaces {
		names, more = names[:namedPlaces], " and elsewhere"
	}
	return ". You may in " + strings.Join(names, ", ") + more + ": name the project"
}
