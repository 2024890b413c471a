package secret

import (
	"path"
	"strings"
)

// dockerHub is the registry of images that name none.
const dockerHub = "docker.io"

// serves reports whether one of the images is in a registry, as a Docker configuration names it: a host, perhaps with a
// port, a path and a scheme. As for a kubelet, parts of the host may have wildcards, and a path means all images below it.
func serves(registry string, images []string) bool {
	host, below := registryOf(registry)
	for _, image := range images {
		where, repository := repositoryOf(image)
		if sameHost(host, where) && (below == "" || repository == below || strings.HasPrefix(repository, below+"/")) {
			return true
		}
	}
	return false
}

// registryOf splits the key of a Docker configuration into host and path.
func registryOf(key string) (host, below string) {
	if _, rest, found := strings.Cut(key, "://"); found {
		key = rest
	}
	host, below, _ = strings.Cut(strings.TrimRight(key, "/"), "/")
	switch host {
	case "index.docker.io", "registry-1.docker.io":
		host = dockerHub
	}
	if below == "v1" || below == "v2" { // the version of the registry's API
		below = ""
	}
	return host, below
}

// repositoryOf splits an image into the host of its registry and its repository, without tag and digest.
func repositoryOf(image string) (host, repository string) {
	image, _, _ = strings.Cut(image, "@")
	host, repository, found := strings.Cut(image, "/")
	if !found || !strings.ContainsAny(host, ".:") && host != "localhost" {
		host, repository = dockerHub, image
		if !found {
			repository = "library/" + image
		}
	}
	if host == "index.docker.io" || host == "registry-1.docker.io" {
		host = dockerHub
	}
	if at := strings.LastIndexByte(repository, ':'); at > strings.LastIndexByte(repository, '/') {
		repository = repository[:at]
	}
	return host, repository
}

// sameHost compares hosts part by part, so that a wildcard represents one part. Ports must be the same.
func sameHost(pattern, host string) bool {
	pattern, wanted, _ := strings.Cut(pattern, ":")
	host, port, _ := strings.Cut(host, ":")
	parts, hosts := strings.Split(pattern, "."), strings.Split(host, ".")
	if wanted != port || len(parts) != len(hosts) {
		return false
	}
	for i, part := range parts {
		if matched, err := path.Match(part, hosts[i]); err != nil || !matched {
			return false
		}
	}
	return true
}
