// Package sessions keeps who is signed in, and where: a browser by the token in its cookie, the command line by its refresh token.
package sessions

import (
	"crypto/rand"
	"crypto/sha256"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// Person is who signed in, as the provider described the person at that time.
type Person struct {
	// Subject is unique over all providers and local accounts.
	Subject string   `json:"subject"`
	Name    string   `json:"name,omitempty"`
	Email   string   `json:"email,omitempty"`
	Groups  []string `json:"groups,omitempty"`
	// Issuer is the name of the provider; empty for local accounts.
	Issuer string `json:"issuer,omitempty"`
	// Account is the name of the local account; empty for people of providers.
	Account string `json:"account,omitempty"`
	// Password is the hash against which the password of the account was checked; empty in sessions.
	Password string `json:"-"`
	// SaidAt is when a proxy said this of the person, if its word has a time.
	SaidAt time.Time `json:"-"`
	// IDToken is that of the provider, to sign out there; may be empty.
	IDToken string `json:"id_token,omitempty"`
}

// Identity is the person as a caller who has proved it by a credential.
func (p Person) Identity(credential string) authz.Identity {
	return authz.Identity{
		Kind: authz.User, Subject: p.Subject, Name: p.Name, Email: p.Email, Groups: p.Groups, Credential: credential,
	}
}

// random is a secret value of 130 bits in base32.
func random() string { return rand.Text() }

// hashed is how a token is stored.
func hashed(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
