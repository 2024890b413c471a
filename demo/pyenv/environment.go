package pyenv

import (
	"os"
	"slices"
	"strings"
)

// environment is what the programs get that make an environment: of this process's variables only those that say where programs,
// packages and certificates are. Others would change what is made and where: PYTHONHOME, PIP_TARGET, UV_SYSTEM_PYTHON and many more.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !slices.Contains(wanted, name) && !slices.ContainsFunc(wantedPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
}

// The variables that environments are made with.
//
//nolint:gochecknoglobals // tables
var (
	wanted = []string{
		"PATH", "HOME", "TMPDIR", "LANG", "TZ", "NETRC", "LD_LIBRARY_PATH",
		"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
		"PIP_CERT", "PIP_CLIENT_CERT", "PIP_CONFIG_FILE", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_NO_INDEX",
		"PIP_PROXY", "PIP_RETRIES", "PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT", "PIP_TRUSTED_HOST", "PIP_CACHE_DIR", "PIP_NO_CACHE_DIR",
		"UV_CONFIG_FILE", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_INDEX", "UV_INDEX_URL", "UV_NO_INDEX",
		"UV_INSECURE_HOST", "UV_KEYRING_PROVIDER", "UV_NATIVE_TLS", "UV_OFFLINE", "UV_SYSTEM_CERTS", "UV_CACHE_DIR", "UV_NO_CACHE",
		"UV_HTTP_TIMEOUT", "UV_HTTP_RETRIES", "UV_REQUEST_TIMEOUT", "UV_LINK_MODE",
		"UV_PYTHON_DOWNLOADS", "UV_PYTHON_DOWNLOADS_JSON_URL", "UV_PYTHON_INSTALL_DIR", "UV_PYTHON_INSTALL_MIRROR",
	}
	// UV_INDEX_NAME_USERNAME and similar variables are credentials of indexes.
	wantedPrefixes = []string{"LC_", "XDG_", "UV_INDEX_"}
)
