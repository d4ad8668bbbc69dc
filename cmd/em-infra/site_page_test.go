package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
)

// siteProject is a project with the sample stacks of the repository.
func siteProject(t *testing.T) (root string) {
	t.Helper()
	repository, err := filepath.Abs("../..")
	require.NoError(t, err)
	root = project(t)
	for _, stack := range []string{"k3s-dev", "k8s-prod", "site-hosts", "site-systems"} {
		require.NoError(t, os.RemoveAll(filepath.Join(root, "stacks", stack)))
		require.NoError(t, os.CopyFS(filepath.Join(root, "stacks", stack), os.DirFS(filepath.Join(repository, "stacks", stack))))
		name := "Pulumi." + stack + ".yaml"
		text, err := os.ReadFile(filepath.Join(repository, name))
		require.NoError(t, err)
		writeFile(t, filepath.Join(root, name), string(text))
	}
	return root
}

// TestPictureOfTheSiteIsCurrent: docs/site.svg is what `em-infra site graph` draws of the samples in the repository. With -update it is drawn
// anew.
func TestPictureOfTheSiteIsCurrent(t *testing.T) {
	docs, err := filepath.Abs("../../docs")
	require.NoError(t, err)
	siteProject(t)
	drawn := em(t.Context(), "site", "graph")
	require.Equal(t, exitOK, drawn.code, drawn.err)
	golden.Equal(t, filepath.Join(docs, "site.svg"), drawn.out)
}

func TestSiteGraphWritesAFile(t *testing.T) {
	root := siteProject(t)
	drawn := em(t.Context(), "site", "graph")
	require.Equal(t, outcome{out: "drawn: site.svg\n"}, em(t.Context(), "site", "graph", "--out", "site.svg"))
	text, err := os.ReadFile(filepath.Join(root, "site.svg"))
	require.NoError(t, err)
	require.Equal(t, drawn.out, string(text))
	require.Equal(t, refusal("--out: open nowhere/site.svg: no such file or directory: choose a file in a folder that is there"),
		em(t.Context(), "site", "graph", "--out", "nowhere/site.svg"))
}

// TestSitePagesAreRefusedAsAWhole: a site whose files are wrong has neither a picture nor a page, and nothing is written.
func TestSitePagesAreRefusedAsAWhole(t *testing.T) {
	root := siteProject(t)
	writeFile(t, filepath.Join(root, "stacks", "site-hosts", "hosts.yaml"), "kind: Hosts\n")
	before := files(t, root)
	for _, verb := range []string{"graph", "report"} {
		require.Equal(t, refusal("site-hosts: its inventory is not valid: see `em-infra validate --stack site-hosts`"), em(t.Context(), "site", verb), verb)
	}
	require.Equal(t, before, files(t, root))
}

// TestASiteThatCannotBeAskedHasAPage: each stack is on it with the reason, and with its place in the picture. Only its owner can read the file.
func TestASiteThatCannotBeAskedHasAPage(t *testing.T) {
	root := siteProject(t)
	require.Equal(t, outcome{out: "written: artifacts/site.html\n"}, em(t.Context(), "site", "report"))
	file := filepath.Join(root, "artifacts", "site.html")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	about, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), about.Mode())
	page := string(text)
	require.Contains(t, page, `<p class="chip bad">4 of 4 stacks not sound</p>`)
	for _, row := range []string{
		`<th scope="row">site-hosts</th><td data-label="Kind">hosts</td><td data-label="Layer">1</td><td data-label="Status" class="bad">refused</td><td data-label="Last run">none</td>`,
		`<th scope="row">site-systems</th><td data-label="Kind">systems</td><td data-label="Layer">2</td>`,
		`<th scope="row">k8s-prod</th><td data-label="Kind">platform</td><td data-label="Layer">3</td>`,
		"<p>the passphrase of the stack&#39;s secrets is not set: put it into a file and run <code>export PULUMI_CONFIG_PASSPHRASE_FILE=FILE</code>",
		"<title>pihole: container</title>", ">host vmhost<", ">host pve3<", ">vmbr1<", ">cluster k8s-prod<",
	} {
		require.Contains(t, page, row)
	}
	require.Contains(t, em(t.Context(), "site", "report", "--out", "-").out, "<!doctype html>")
	require.Equal(t, refusal("--out: open nowhere/site.html: no such file or directory: choose a file in a folder that is there"),
		em(t.Context(), "site", "report", "--out", "nowhere/site.html"))
	require.Equal(t, refusal("no stack of this project is rehearsed yet: bring the site up on a lab with `em-infra site up --lab`"), em(t.Context(), "site", "report", "--lab"))
}

// TestGraphDrawsEveryKind: graph draws stacks of each kind.
func TestGraphDrawsEveryKind(t *testing.T) {
	siteProject(t)
	for stack, text := range map[string]string{"site-hosts": ">VLAN 30 · 10.30.0.10/24<", "site-systems": ">CT 211 · debian-13<"} {
		drawn := em(t.Context(), "graph", "--stack", stack)
		require.Equal(t, exitOK, drawn.code, drawn.err)
		require.Contains(t, drawn.out, text)
	}
}
