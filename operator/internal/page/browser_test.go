package page_test

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var browser = flag.Bool("browser", false, "look at the pages with chromium, which has to be installed")

//go:embed testdata/probe.js
var probe string

// browse opens a page with chromium, and returns the document after its scripts and what the browser logs.
func browse(t *testing.T, written, scheme string) (document, log string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, []byte(written), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", //nolint:gosec // fixed arguments
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(),
		"--enable-logging=stderr", "--blink-settings=preferredColorScheme="+map[string]string{"dark": "0", "light": "1"}[scheme],
		"--window-size=1400,1000", "--dump-dom", "file://"+file)
	var out, err bytes.Buffer
	command.Stdout, command.Stderr = &out, &err
	require.NoError(t, command.Run(), "%s", &err)
	return out.String(), err.String()
}

// framed returns a document that shows a page in frames of these widths and measures it there. The page itself forbids scripts.
func framed(page string, widths ...int) string {
	var frames strings.Builder
	for _, width := range widths {
		fmt.Fprintf(&frames, `<iframe style="width:%dpx;height:12000px;border:0" srcdoc="%s"></iframe>`, width, html.EscapeString(page))
	}
	return "<!doctype html><meta charset=utf-8><body style=\"margin:0\">" + frames.String() + "<pre id=measured></pre><script>" + probe + "</script>"
}

// measured is what the probe finds in a page.
type measured struct {
	Width  int
	Scheme string
	Texts  int
	// Overflows are elements that reach beyond the page.
	Overflows []string
	// Faint are texts with a contrast below 4.5.
	Faint []string
}

func measure(t *testing.T, page, scheme string, widths ...int) []measured {
	t.Helper()
	document, _ := browse(t, framed(page, widths...), scheme)
	_, after, found := strings.Cut(document, `<pre id="measured">`)
	require.True(t, found)
	text, _, found := strings.Cut(after, "</pre>")
	require.True(t, found)
	var results []measured
	require.NoError(t, json.Unmarshal([]byte(html.UnescapeString(text)), &results), text)
	require.Len(t, results, len(widths))
	return results
}

// TestInABrowser: each page is shown without an error, nothing reaches beyond a phone or a screen, and all texts have contrast. CI has no
// browser.
func TestInABrowser(t *testing.T) {
	t.Parallel()
	if !*browser {
		t.Skip("needs chromium: run it with -browser")
	}
	for name, page := range written(t) {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(name+"/"+scheme, func(t *testing.T) {
				t.Parallel()
				document, log := browse(t, page, scheme)
				require.Regexp(t, "<h1>(k3s-dev|site-hosts|site-systems|Site)</h1>", document)
				require.NotContains(t, log, "CONSOLE")
				for _, found := range measure(t, page, scheme, 360, 1280) {
					require.Equal(t, scheme, found.Scheme)
					require.Greater(t, found.Texts, 20)
					require.Empty(t, found.Overflows, "at %d px", found.Width)
					require.Empty(t, found.Faint, "at %d px", found.Width)
				}
			})
		}
	}
}

// TestTheProbeFinds: the probe and the log find the faults that they are asked for.
func TestTheProbeFinds(t *testing.T) {
	t.Parallel()
	if !*browser {
		t.Skip("needs chromium: run it with -browser")
	}
	page, err := whole().HTML(nil)
	require.NoError(t, err)
	broken := strings.Replace(string(page), "<main>", `<main><p style="width:400px">wide</p><p style="color:#999;background:#aaa">faint</p><script>1</script>`, 1)
	_, log := browse(t, broken, "light")
	require.Contains(t, log, "CONSOLE")
	found := measure(t, broken, "light", 360, 1280)
	require.Equal(t, []string{"P: wide"}, found[0].Overflows)
	require.Empty(t, found[1].Overflows)
	require.Equal(t, []string{"faint: 1.23"}, found[1].Faint)
}
