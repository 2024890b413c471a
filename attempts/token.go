package attempts

import "strings"

// Variables by which a process reaches the server. The first two are the SDK's.
const (
	EndpointVariable = "_U_EP_OVERRIDE"
	InsecureVariable = "_U_INSECURE"
	// TokenVariable has the token of the attempt, where the server authenticates its callers.
	TokenVariable = "FLYTE_TASK_TOKEN"
	// AppsVariable is the SDK's pattern of the addresses of apps.
	AppsVariable = "INTERNAL_APP_ENDPOINT_PATTERN"
)

// URL is the address of the server as a URL, from the forms that the SDK takes: host:port, dns:///host:port or a URL. The SDK takes
// some names for those of servers without TLS.
func URL(endpoint string, insecure bool) string {
	endpoint = strings.TrimPrefix(endpoint, "dns:///")
	if strings.Contains(endpoint, "://") {
		return endpoint
	}
	if insecure || strings.Contains(endpoint, "localhost") || strings.Contains(endpoint, "docker") {
		return "http://" + endpoint
	}
	return "https://" + endpoint
}

// WithToken returns the endpoint of a process that presents a token, and the pattern for apps of the same server. The token is at the
// beginning of the path, since clients that use plain HTTP send it nowhere else. It may be a reference to a variable.
func WithToken(endpoint, apps string, insecure bool, token string) (tokenEndpoint, tokenApps string) {
	url := strings.TrimRight(URL(endpoint, insecure), "/")
	if rest, same := strings.CutPrefix(apps, url+"/"); same {
		apps = url + "/t/" + token + "/" + rest
	}
	return url + "/t/" + token, apps
}
