package vault

import (
	"net/url"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config is the section secrets.vault.
type Config struct {
	// Address is the URL of Vault, such as https://vault.example:8200. Required for this backend.
	Address string `config:"address"`
	// Namespace is that of Vault Enterprise; empty for none.
	Namespace string `config:"namespace"`
	// CAFile has the certificates that sign Vault's; empty means those of the system.
	CAFile string `config:"caFile"`
	// Mount is where the secrets engine KV, version 2, is mounted. Defaults to secret.
	Mount string `config:"mount"`
	// Prefix is the path of all secrets below the mount. Defaults to flyte.
	Prefix string `config:"prefix"`
	// Auth says how to sign in.
	Auth AuthConfig `config:"auth"`
}

// AuthConfig says how to sign in to Vault.
type AuthConfig struct {
	// Method is token, kubernetes or approle. Defaults to kubernetes.
	Method string `config:"method"`
	// Mount is where the method is mounted. Defaults to the name of the method.
	Mount string `config:"mount"`
	// Token is for the method token. TokenFile wins over it.
	Token string `config:"token" sensitive:"true"`
	// TokenFile has the token; it is read at each sign-in.
	TokenFile string `config:"tokenFile"`
	// Role is for the method kubernetes.
	Role string `config:"role"`
	// JWTFile has the token of the service account, for the method kubernetes; it is read at each sign-in. Defaults to
	// that of the server's own pod.
	JWTFile string `config:"jwtFile"`
	// RoleID is for the method approle.
	RoleID string `config:"roleID"`
	// SecretID is for the method approle. SecretIDFile wins over it.
	SecretID string `config:"secretID" sensitive:"true"`
	// SecretIDFile has the secret ID; it is read at each sign-in.
	SecretIDFile string `config:"secretIDFile"`
}

// The methods.
const (
	methodToken      = "token"
	methodKubernetes = "kubernetes"
	methodAppRole    = "approle"
)

// DefaultConfig signs in with the service account of the pod.
func DefaultConfig() Config {
	return Config{Mount: "secret", Prefix: "flyte", Auth: AuthConfig{
		Method: methodKubernetes, JWTFile: "/var/run/secrets/kubernetes.io/serviceaccount/token",
	}}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	if parsed, err := url.Parse(c.Address); err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		found.Add("address: want https://host:port")
	}
	for _, at := range []struct{ field, path string }{{"mount", c.Mount}, {"prefix", c.Prefix}} {
		found.If(at.path == "" || strings.Trim(at.path, "/") != at.path,
			"%s: must be a path without a slash at its ends, got %q", at.field, at.path)
	}
	auth := c.Auth
	switch auth.Method {
	case methodToken:
		found.If(auth.Token == "" && auth.TokenFile == "", "auth.token: required for the method token, or auth.tokenFile")
	case methodKubernetes:
		found.If(auth.Role == "" || auth.JWTFile == "", "auth.role: required for the method kubernetes, and auth.jwtFile")
	case methodAppRole:
		found.If(auth.RoleID == "" || auth.SecretID == "" && auth.SecretIDFile == "",
			"auth.roleID: required for the method approle, and auth.secretID or auth.secretIDFile")
	default:
		found.Add("auth.method: want token, kubernetes or approle, got %q", auth.Method)
	}
	return found.Err()
}
