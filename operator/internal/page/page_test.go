package page_test

import (
	"crypto/rand"
	"html"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/operator/internal/artifacts"
	"github.com/em-infra/em-infra/operator/internal/drift"
	"github.com/em-infra/em-infra/operator/internal/page"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// pages are the pages of the tests by name.
func pages() map[string]page.Page {
	one := page.Page{Stack: "k3s-dev", Written: today, Runs: whole().Runs[2:3]}
	sound := whole()
	sound.Status.Machines, sound.Status.Orphans, sound.Status.Credentials = sound.Status.Machines[:2], nil, sound.Status.Credentials[1:]
	sound.Status.Members = sound.Status.Members[:2]
	sound.Drift, sound.Copies, sound.Runs, sound.Rehearsed = &drift.Report{}, nil, nil, true
	return map[string]page.Page{"whole": whole(), "one-run": one, "sound": sound, "hosts": hosts(), "systems": systems()}
}

func TestPages(t *testing.T) {
	t.Parallel()
	for name, of := range pages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			written, err := of.HTML(nil)
			require.NoError(t, err)
			golden.Equal(t, filepath.Join("testdata", name+".html"), string(written))
		})
	}
}

// TestTheVerdict: a page does not claim that something is as the inventory says if it was not compared.
func TestTheVerdict(t *testing.T) {
	t.Parallel()
	differs := []drift.Difference{{Subject: "k3s-dev-cp-1", Property: "Talos", Want: "v1.12.4", Have: "v1.12.3"}}
	for verdict, compared := range map[string]*drift.Report{
		"sound":                                {},
		"sound, not everything was compared":   {Unread: []string{"the host does not answer"}},
		"sound, and not as the inventory says": {Nodes: differs, Unread: []string{"the host does not answer"}},
	} {
		sound := pages()["sound"]
		sound.Drift = compared
		text, err := sound.HTML(nil)
		require.NoError(t, err)
		require.Contains(t, string(text), `<p class="chip good">`+verdict+`</p>`)
	}
}

// written returns all pages of the tests by name, with those of sites.
func written(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, of := range pages() {
		text, err := of.HTML(nil)
		require.NoError(t, err)
		all[name] = string(text)
	}
	for name, of := range sites() {
		text, err := of.HTML(nil)
		require.NoError(t, err)
		all[name] = string(text)
	}
	return all
}

// TestNothingIsLoaded: a page names no file and no address to load from, and has no script.
func TestNothingIsLoaded(t *testing.T) {
	t.Parallel()
	for name, text := range written(t) {
		for _, forbidden := range []string{"<script", "src=", "@import", "url(", "javascript:", "href=\"http"} {
			require.NotContains(t, text, forbidden, name)
		}
		require.Contains(t, text, `content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"`, name)
	}
}

// TestNoSecretIsOnAPage plants secrets in every text that a page shows.
func TestNoSecretIsOnAPage(t *testing.T) {
	t.Parallel()
	secrets := []string{rand.Text(), rand.Text() + `+/"'<&>=`, "-----BEGIN KEY-----\n" + rand.Text()}
	planted := " " + strings.Join(secrets, " ")
	p := whole()
	p.Status.Unread = []string{"the host said" + planted}
	p.Status.Machines[0].Node.Unmet = []string{"waits for" + planted}
	p.Status.Credentials = append(p.Status.Credentials, status.Credential{Kind: status.KindAgeRecipient, Name: planted})
	p.Drift.Host[0].Have, p.Drift.Unread = planted, []string{planted}
	p.Copies[0].Name = planted
	failed := broken()
	failed.Error, failed.Resources[0].Name = planted, planted
	failed.Resources[1].WaitedFor = &artifacts.Awaited{Name: planted}
	p.Runs = []artifacts.Past{run(1, "up", failed)}

	shown, err := p.HTML(nil)
	require.NoError(t, err)
	for _, secret := range secrets {
		require.Contains(t, html.UnescapeString(string(shown)), secret, "without the gate it is there")
	}
	hidden, err := p.HTML(secrets)
	require.NoError(t, err)
	for _, secret := range secrets {
		require.NotContains(t, string(hidden), secret)
		require.NotContains(t, html.UnescapeString(string(hidden)), secret)
	}
	require.Contains(t, string(hidden), "the host said [secret] [secret] [secret]")
}

// TestTextsAreNoMarkup: what comes from elsewhere is shown as it is written.
func TestTextsAreNoMarkup(t *testing.T) {
	t.Parallel()
	p := whole()
	p.Cluster = `<img src=x onerror="alert(1)">`
	p.Runs[2].Summary.Error = "say `</code><b>` now"
	written, err := p.HTML(nil)
	require.NoError(t, err)
	require.NotContains(t, string(written), "<img")
	require.Contains(t, string(written), "say <code>&lt;/code&gt;&lt;b&gt;</code> now")
}
