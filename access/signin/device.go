package signin

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/flyte-binary/flyte-binary/access/authserver"
)

// device is the page on which who is signed in lets a device sign in.
func (p *Pages) device(w http.ResponseWriter, r *http.Request) {
	typed := r.FormValue("user_code")
	session, signedIn, err := p.session(r)
	if err != nil {
		p.broken(w, r, err)
		return
	}
	if !signedIn {
		back := DevicePage
		if code := authserver.UserCode(typed); code != "" {
			back += "?" + url.Values{"user_code": {code}}.Encode()
		}
		http.Redirect(w, r, Page+"?"+destination{Return: back}.query(), http.StatusSeeOther)
		return
	}
	shown := &page{title: "Let a device sign in"}
	shown.add(`<p>Another machine asks to act as <b>`, text(display(session.Person)), `</b>. Allow it only if you started this yourself, and the code there is the same.</p>`)
	p.deviceForm(shown, authserver.UserCode(typed))
	shown.write(w)
}

func (p *Pages) deviceForm(shown *page, code string) {
	shown.add(`<form method="post" action="`, DevicePage, `"><label for="code">Code</label>`,
		`<input id="code" name="user_code" autocomplete="off" autocapitalize="characters" required value="`, text(code), `">`,
		`<button class="main" name="answer" value="allow">Allow</button><button name="answer" value="deny">Deny</button></form>`)
}

func (p *Pages) answerDevice(w http.ResponseWriter, r *http.Request) {
	session, signedIn, err := p.session(r)
	if err != nil {
		p.broken(w, r, err)
		return
	}
	code := authserver.UserCode(r.PostFormValue("user_code"))
	if !signedIn {
		http.Redirect(w, r, DevicePage+"?"+url.Values{"user_code": {code}}.Encode(), http.StatusSeeOther)
		return
	}
	allow, answer := r.PostFormValue("answer") == "allow", "Signed in"
	if !allow {
		answer = "Refused"
	}
	err = p.change(r, session, DevicePage, func(ctx context.Context) error {
		found, err := p.Server.AnswerDevice(ctx, code, session, allow)
		return errors.Join(err, goneUnless(found || err != nil))
	})
	switch {
	case err != nil && !errors.Is(err, errGone):
		p.broken(w, r, err)
	case err != nil:
		shown := &page{status: http.StatusNotFound, title: "Let a device sign in"}
		shown.alert("No device waits under this code. Codes are valid for ten minutes.")
		p.deviceForm(shown, "")
		shown.write(w)
	default:
		p.Log.Info().Str("subject", session.Person.Subject).Str("peer", r.RemoteAddr).Bool("allowed", allow).Msg("a device asked to sign in")
		shown := &page{title: answer}
		shown.add(`<p>You can close this page.</p>`)
		shown.write(w)
	}
}
