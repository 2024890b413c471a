package webhook

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPagesEscapeTexts(t *testing.T) {
	const hostile, escaped = `<script>alert("1")</script>&'`, `&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt;&amp;&#39;`
	var written strings.Builder
	require.NoError(t, page{Title: hostile, Text: hostile, Description: hostile, Form: true, Kind: hostile}.write(&written))
	require.NotContains(t, written.String(), "<script>")
	require.Equal(t, 5, strings.Count(written.String(), escaped), "title twice, text, description, kind")
	require.Contains(t, written.String(), `<label>`+escaped+` <input name="value" autofocus>`)
}

func TestPagesAskInTheirForm(t *testing.T) {
	text := func(p page) string {
		var written strings.Builder
		require.NoError(t, p.write(&written))
		return written.String()
	}
	require.NotContains(t, text(page{Title: "a", Text: "b"}), "<form")
	require.NotContains(t, text(page{Title: "a", Text: "b"}), "<p></p>", "no empty description")
	approval := text(page{Title: "a", Text: "100 %", Description: "c", Form: true, Boolean: true})
	require.Contains(t, approval, `<p>100 %</p><p>c</p><form method="post"><button name="value" value="true">Approve</button>`)
	require.NotContains(t, approval, "<input")
}
