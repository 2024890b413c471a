package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// MetadataPath is where agents find who issues tokens for an address, by the path of that address (RFC 9728).
const MetadataPath = "/.well-known/oauth-protected-resource"

// Authorization says where people let an agent act for them.
type Authorization struct {
	// URL is the public URL of the installation, Issuer that of its authorization server.
	URL, Issuer string
	// Scopes are those that an agent asks for.
	Scopes []string
}

// resource is an address with its handler, and how a caller without a credential gets one.
type resource struct {
	http.Handler
	path          string
	authorization *Authorization
}

// Challenge implements rpc.Challenger.
func (r resource) Challenge() string {
	return fmt.Sprintf("Bearer resource_metadata=%q", r.authorization.URL+MetadataPath+r.path)
}

// metadata describes the resource to agents, with the names of RFC 9728.
type metadata struct {
	Resource      string   `json:"resource"`
	Name          string   `json:"resource_name"`
	Servers       []string `json:"authorization_servers"`
	Scopes        []string `json:"scopes_supported"`
	BearerMethods []string `json:"bearer_methods_supported"`
}

// describe serves the metadata of the resource. It has no secret, and any page may read it.
func (r resource) describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	// A failed write means that the client has gone.
	_ = json.NewEncoder(w).Encode(metadata{
		Resource: r.authorization.URL + r.path, Name: "Flyte", Servers: []string{r.authorization.Issuer}, Scopes: r.authorization.Scopes,
		BearerMethods: []string{"header"},
	})
}
