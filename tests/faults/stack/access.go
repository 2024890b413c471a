package stack

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// The account that is created first, which may do everything.
const (
	admin         = "admin"
	adminPassword = "of the administrator"
)

// SignIn signs the administrator in, as a browser does, and returns the header with the cookies of the session.
func (s *Stack) SignIn(ctx context.Context) (string, error) {
	form := url.Values{"name": {admin}, "password": {adminPassword}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/access/sign-in", strings.NewReader(form))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	defer response.Body.Close()
	var cookies []string
	for _, cookie := range response.Cookies() {
		cookies = append(cookies, cookie.Name+"="+cookie.Value)
	}
	if response.StatusCode != http.StatusSeeOther || len(cookies) == 0 {
		return "", fmt.Errorf("sign in: %s with %d cookies", response.Status, len(cookies))
	}
	return strings.Join(cookies, "; "), nil
}
