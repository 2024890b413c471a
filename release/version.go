package main

import (
	"regexp"
	"strings"
)

// described is what git describe says: the last tag, the commits since then and the last commit; all but the last may be missing.
var described = regexp.MustCompile(`^(?:v?(\d+(?:\.\d+)+)(?:-?(a|alpha|b|beta|rc)\.?(\d+))?(?:-(\d+)-g([0-9a-f]+))?|([0-9a-f]+))(-dirty)?$`)

// pythonVersion is a version as Python packages have them (PEP 440). A commit after a tag is a development version after it, and
// a commit without any tag comes before all releases. Both have a local part, which no index accepts.
func pythonVersion(version string) string {
	found := described.FindStringSubmatch(version)
	if found == nil {
		return "0.0.0.dev0"
	}
	release, stage, number, since, commit, bare, dirty := found[1], found[2], found[3], found[4], found[5], found[6], found[7] != ""
	result, local := release, ""
	switch {
	case bare != "":
		result, local = "0.0.0.dev0", "g"+bare
	case commit != "":
		local = "g" + commit
	}
	switch stage {
	case "a", "alpha":
		result += "a" + number
	case "b", "beta":
		result += "b" + number
	case "rc":
		result += "rc" + number
	}
	if since != "" {
		result += ".post" + since
	}
	if dirty {
		if local != "" {
			local += "."
		}
		local += "dirty"
	}
	if local != "" {
		result += "+" + local
	}
	return result
}

// chartVersion is a version as charts have them (SemVer 2). SemVer knows no versions after a release, so that a commit after a tag
// has the version of the tag and says in its build metadata what it is.
func chartVersion(version string) string {
	found := described.FindStringSubmatch(version)
	if found == nil {
		return "0.0.0-dev"
	}
	release, stage, number, since, commit, bare, dirty := found[1], found[2], found[3], found[4], found[5], found[6], found[7] != ""
	if bare != "" {
		release, stage, number, commit = "0.0.0", "dev", "0", bare
	}
	for strings.Count(release, ".") < 2 {
		release += ".0"
	}
	var local []string
	if since != "" {
		local = append(local, "post", since)
	}
	if commit != "" {
		local = append(local, "g"+commit)
	}
	if dirty {
		local = append(local, "dirty")
	}
	if stage != "" {
		release += "-" + stage + "." + number
	}
	if len(local) > 0 {
		release += "+" + strings.Join(local, ".")
	}
	return release
}
