package apps

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"strings"

	"github.com/flyte-binary/flyte-binary/apps/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
)

// addresses makes the addresses of apps, and finds apps by them.
type addresses struct {
	base   *url.URL
	domain string
}

// newAddresses parses the configured addresses once. Host names are compared in lower case from here on, as DNS does.
func newAddresses(given Addresses) (addresses, error) {
	base, err := url.Parse(strings.TrimSuffix(given.PublicURL, "/"))
	if err != nil || base.Host == "" {
		return addresses{}, fmt.Errorf("apps: the public URL must be a URL with a host, got %q", given.PublicURL)
	}
	return addresses{base: base, domain: strings.ToLower(given.Domain)}, nil
}

// prefix is the path below which gateways serve apps.
const prefix = "/apps/"

// subdomainOf is the label of the host of an app: what it declares, or its name with a hash of project and domain, as the SDK's
// Subdomain derives it.
func subdomainOf(key store.Key, spec *app.Spec) string {
	if declared := spec.GetIngress().GetSubdomain(); declared != "" {
		return declared
	}
	sum := sha256.Sum256([]byte(key.Project + "-" + key.Domain))
	return strings.ToLower(key.Name) + fmt.Sprintf("-%x", sum[:4])
}

// public is the address of an app below the server's own. Every app has it, also where no domain is configured.
func (a addresses) public(key store.Key) string {
	return a.base.JoinPath("apps", key.Project, key.Domain, key.Name).String()
}

// host is the address of an app on a host of its own; empty if there are none.
func (a addresses) host(subdomain string) string {
	if a.domain == "" {
		return ""
	}
	host := subdomain + "." + a.domain
	if port := a.base.Port(); port != "" {
		host += ":" + port
	}
	return (&url.URL{Scheme: a.base.Scheme, Host: host}).String()
}

// cname is the address of an app on a host name that is the user's.
func (a addresses) cname(host string) string {
	return (&url.URL{Scheme: a.base.Scheme, Host: host}).String()
}

// find reads from an address which app it is: by its name, or by its host or subdomain.
func (a addresses) find(address string) (key store.Key, host, subdomain string) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return store.Key{}, "", ""
	}
	// An address below the server's own has the whole name of the app in its path. Anything else on this host falls
	// through to the lookup by host name, since a user may have pointed the host name of an app at the server.
	if strings.EqualFold(u.Host, a.base.Host) {
		parts := strings.Split(strings.Trim(strings.TrimPrefix(u.Path, a.base.Path), "/"), "/")
		if len(parts) >= 4 && parts[0] == strings.Trim(prefix, "/") {
			return store.Key{Project: parts[1], Domain: parts[2], Name: parts[3]}, "", ""
		}
	}
	name := strings.ToLower(u.Hostname())
	if a.domain != "" {
		// Exactly one label below the domain: deeper names are never given to apps, so they can only be host names of
		// users.
		if label, below := strings.CutSuffix(name, "."+a.domain); below && !strings.Contains(label, ".") {
			return store.Key{}, "", label
		}
	}
	return store.Key{}, name, ""
}
