package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator"
)

func TestStateListShowsTheNewestFirst(t *testing.T) {
	root := project(t)
	require.Equal(t, outcome{out: "no backups of stack k3s-dev in .backups/k3s-dev; up and destroy make them\n"}, em(t.Context(), "state", "list", "--stack", "k3s-dev"))
	require.Equal(t, outcome{out: "[]\n"}, em(t.Context(), "state", "list", "--stack", "k3s-dev", "--output", "json"))

	for i, name := range []string{"2026-11-21T12-00-00-before-up", "2026-11-21T12-01-00-after-up"} {
		writeFile(t, filepath.Join(root, ".backups", "k3s-dev", name+".json"), strings.Repeat(" ", 1025+i))
	}
	require.Equal(t, outcome{out: `NAME                           TAKEN (UTC)          MADE       SIZE   WHERE
2026-11-21T12-01-00-after-up   2026-11-21 12:01:00  after up   2 KiB  here
2026-11-21T12-00-00-before-up  2026-11-21 12:00:00  before up  2 KiB  here
`}, em(t.Context(), "state", "list", "--stack", "k3s-dev"))
	require.Contains(t, em(t.Context(), "state", "list", "--stack", "k3s-dev", "--output", "json").out, `"name": "2026-11-21T12-01-00-after-up"`)
}

func TestStateCommandsRefuseEarly(t *testing.T) {
	root := project(t)
	const passphrase = "the passphrase of the stack's secrets is not set: put it into a file and run `export PULUMI_CONFIG_PASSPHRASE_FILE=FILE`, or add --lab to rehearse without"
	for _, test := range []struct {
		args     []string
		sentence string
	}{
		{[]string{"state", "list"}, "no stack is named: add --stack NAME, e.g. --stack k3s-dev"},
		{[]string{"state", "list", "--stack", "k3s-dev", "--output", "xml"}, `--output: "xml" is no format: choose text or json`},
		{[]string{"state", "backup", "--stack", "k3s-dev"}, passphrase},
		{[]string{"state", "unlock", "--stack", "k3s-dev"}, passphrase},
		{[]string{"state", "restore", "--stack", "k3s-dev"}, "consent cannot be asked for without a terminal: look at `em-infra preview --stack k3s-dev`, then add --yes to put the backup back"},
		{[]string{"state", "migrate", "--stack", "k3s-dev"}, "no place is named: add --to URL, e.g. --to s3://BUCKET"},
		{[]string{"state", "migrate", "--stack", "k3s-dev", "--to", "bucket"}, `--to: "bucket" is no place for a state: begin with one of file://, s3://, gs://, azblob://`},
		{
			[]string{"state", "backup", "--stack", "k3s-dev", "--lab"},
			"stack k3s-dev was never rehearsed (stat " + root + "/.lab/k3s-dev: no such file or directory): `em-infra up --stack k3s-dev --lab` does that",
		},
		{[]string{"preview", "--stack", "k3s-dev", "--allow-change", "everything"}, `--allow-change: "everything" is nothing that can be allowed: say secrets`},
	} {
		before := files(t, root)
		require.Equal(t, refusal(test.sentence), em(t.Context(), test.args...), "%v", test.args)
		require.Equal(t, before, files(t, root), "nothing was touched")
	}
}

func TestAllowancesNameTheirSubject(t *testing.T) {
	t.Parallel()
	allowed := allowances{replace: []string{"cp-1", "cp-2"}, remove: []string{"cp-3"}, change: []string{"secrets"}, versionSkip: true}
	given, err := allowed.permissions()
	require.NoError(t, err)
	var typed []string
	for _, permission := range given {
		typed = append(typed, permission.String())
	}
	require.Equal(t, []string{
		"--allow-replace cp-1", "--allow-replace cp-2", "--allow-delete cp-3", "--allow-change secrets", "--allow-version-skip",
	}, typed)
	require.Equal(t, operator.FlagVersionSkip, given[4].Flag)
}
