package providers

import (
	"fmt"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/access/sessions"
)

// ClaimNames are the claims that describe a person.
type ClaimNames struct{ Subject, Name, Email, Groups string }

// claims are those of a token.
type claims map[string]any

func (c claims) has(name string) bool { return c[name] != nil }

func (c claims) text(name string) string {
	text, _ := c[name].(string)
	return text
}

// time is a claim that is a time; zero if there is none.
func (c claims) time(name string) time.Time {
	seconds, ok := c[name].(float64)
	if !ok {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}

// texts is a claim that is a text or a list of them.
func (c claims) texts(name string) []string {
	switch value := c[name].(type) {
	case string:
		return []string{value}
	case []any:
		var all []string
		for _, one := range value {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}

// add takes over the claims of another source that are not there.
func (c claims) add(source interface{ Claims(target any) error }) error {
	var more claims
	if err := source.Claims(&more); err != nil {
		return fmt.Errorf("the claims of the person: %w", err)
	}
	for name, value := range more {
		if !c.has(name) {
			c[name] = value
		}
	}
	return nil
}

// person is who the claims describe. Its subject cannot be that of a person of another source.
func (p *Provider) person(c claims) (sessions.Person, error) {
	names := p.config.Claims
	subject := c.text(names.Subject)
	if subject == "" {
		return sessions.Person{}, fmt.Errorf("the token of %s has no claim %s", p.config.Name, names.Subject)
	}
	if verified, said := c["email_verified"].(bool); names.Subject == names.Email && (!said || !verified) {
		return sessions.Person{}, fmt.Errorf("%s has not verified the address %s, which would be the subject", p.config.Name, subject)
	}
	if p.config.Prefix == "" {
		for _, beginning := range p.config.Reserved {
			if strings.HasPrefix(subject, beginning) {
				return sessions.Person{}, fmt.Errorf("the subject %s of %s begins like those of %s", subject, p.config.Name, strings.TrimSuffix(beginning, "|"))
			}
		}
	}
	name := c.text(names.Name)
	if name == "" {
		name = c.text("preferred_username")
	}
	return sessions.Person{
		Subject: p.config.Prefix + subject, Name: name, Email: c.text(names.Email), Groups: c.texts(names.Groups), Issuer: p.config.Name,
	}, nil
}
